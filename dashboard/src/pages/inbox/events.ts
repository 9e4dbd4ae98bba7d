import type { QueryClient } from "@tanstack/react-query";
import { gatewayNow } from "../../shared/gatewayTime";
import type { LabelRef } from "../../shared/labels";
import type { GatewayEvent } from "../../shared/live/follow";
import { askAgain, askPaced, askSlowly } from "../../shared/live/invalidate";
import { draftKeys } from "./draftQueries";
import { changeConversation, changeMessage, putMessage } from "./patches";
import { type Conversation, keys, type Message } from "./queries";

const WINDOW_MS = 24 * 3_600_000;
const RANK: Record<string, number> = { SCHEDULED: 0, PENDING: 1, SENT: 2, DELIVERED: 3, READ: 4, PLAYED: 5 };

type Data = Record<string, unknown>;
type MessageData = Data & {
  key: Message["key"];
  direction: Message["direction"];
  type: string;
  content: Message["content"];
  timestamp: string;
  contact: Message["contact"];
  conversation: Message["conversation"];
  context: (Data & { reply_to?: string }) | null;
  status?: Message["status"];
  sent_by?: Message["sent_by"];
};

/** Applies an event to what is loaded. What cannot be patched is asked for again. */
export function applyEvent(client: QueryClient, channel: string, event: GatewayEvent): void {
  const official = event.channel?.kind === "official";
  HANDLERS[`${event.type} ${event.action}`]?.({ client, channel, official }, event.data);
}

type Target = { client: QueryClient; channel: string; official?: boolean };

const HANDLERS: Record<string, (target: Target, data: Data) => void> = {
  "message_notification created": (target, data) => addMessage(target, data as MessageData),
  "message_notification updated": (target, data) => updateMessage(target, data as MessageData),
  "ack_notification message": ({ client, channel }, data) => {
    const { id } = data.key as Message["key"];
    changeMessage(client, channel, id, (before) => withStatus(before, data));
  },
  "chat_notification created": lookUp,
  "chat_notification updated": (target, data) => {
    const fields = Object.fromEntries((data.changed as string[]).map((name) => [name, data[name]]));
    const known = changeConversation(target.client, target.channel, data.id as string, (before) => ({
      ...before,
      ...fields,
    }));
    // A list that the conversation now belongs to may not have it yet.
    if (!known) lookUp(target);
    else if ("status" in fields) refreshLists(target);
  },
  "label_notifications assigned": (target, data) => setLabel(target, data, true),
  "label_notifications removed": (target, data) => setLabel(target, data, false),
  "label_notifications updated": refreshEverything,
  "label_notifications deleted": refreshEverything,
  "contact_notifications updated": refreshEverything,
  "contact_notifications merged": refreshEverything,
};

function addMessage({ client, channel, official }: Target, data: MessageData): void {
  const message = toMessage(data);
  let overtaken = false;
  const known = changeConversation(client, channel, message.conversation.id, (before) => {
    const last = before.last_message?.key.id;
    if (last === message.key.id || message.direction === "out") return before;
    overtaken = last !== undefined && last > message.key.id;
    return afterIncoming(before, message, official === true);
  });
  putMessage(client, channel, message);
  if (!known) lookUp({ client, channel });
  if (overtaken) recount({ client, channel }, message.conversation.id);
  if (message.direction === "in") refreshDrafts({ client, channel }, message.conversation.id);
}

/** Asks again how much is unread: what was loaded after a newer message may have counted this one already. */
function recount(target: Target, conversation: string): void {
  askAgain(target.client, { queryKey: keys.conversation(target.channel, conversation) });
  void target.client.invalidateQueries({ queryKey: keys.lists(target.channel), refetchType: "none" });
  refreshLists(target);
}

/** Asks again for drafts to a person who has written: the gateway knows which came first, not the network's clock. */
function refreshDrafts({ client, channel }: Target, conversation: string): void {
  askSlowly(client, { queryKey: draftKeys.of(channel, conversation) });
  askSlowly(client, { queryKey: draftKeys.ones(channel) });
}

/** A conversation after a message of the person: unread, open, and with a new window where the network has windows. */
function afterIncoming(before: Conversation, message: Message, window: boolean): Conversation {
  const ends = Date.parse(message.created_at) + WINDOW_MS;
  const known = before.window_ends_at ? Date.parse(before.window_ends_at) : 0;
  return {
    ...before,
    contact: { ...before.contact, ...message.contact },
    unread: before.unread + 1,
    status: "open",
    window_ends_at: window ? new Date(Math.max(ends, known)).toISOString() : before.window_ends_at,
  };
}

function toMessage(data: MessageData): Message {
  return {
    key: data.key,
    direction: data.direction,
    type: data.type,
    content: data.content,
    status: data.status ?? "RECEIVED",
    ack: null,
    contact: data.contact,
    conversation: data.conversation,
    reply_to: data.context?.reply_to ?? null,
    about: null,
    context: data.context,
    reactions: [],
    edited_at: null,
    deleted_at: null,
    network_id: null,
    created_at: data.timestamp,
    sent_at: null,
    error: null,
    sent_by: data.sent_by,
  };
}

function updateMessage({ client, channel }: Target, data: MessageData): void {
  const now = new Date(gatewayNow()).toISOString();
  changeMessage(client, channel, data.key.id, (before) => {
    switch (data.change) {
      case "deleted":
        return { ...before, deleted_at: now };
      case "edited":
        return { ...before, type: data.type, content: data.content, edited_at: now };
      case "reaction":
        return { ...before, reactions: withReaction(before.reactions, data.reaction as Message["reactions"][number]) };
      default:
        return { ...before, content: data.content };
    }
  });
}

type Reaction = Message["reactions"][number];

/** One person, in a group one member, has one reaction on a message; an empty one takes it back. */
export function withReaction(before: Reaction[], reaction: Reaction) {
  const others = before.filter((one) => !isOfSamePerson(one, reaction));
  return reaction.emoji ? [...others, reaction] : others;
}

function isOfSamePerson(one: Reaction, other: Reaction): boolean {
  const [a, b] = [one.author, other.author];
  if (one.from !== other.from || !a || !b) return one.from === other.from;
  return (["phone", "lid", "user_id"] as const).some((id) => a[id] !== undefined && a[id] === b[id]);
}

/** A message with a new status. One that comes late does not take a later one back. */
export function withStatus(before: Message, data: Data): Message {
  const status = data.status as Message["status"];
  const late = (RANK[status] ?? 9) < (RANK[before.status] ?? -1);
  if (late) return before;
  return { ...before, status, error: (data.error as Message["error"]) ?? before.error };
}

function setLabel({ client, channel }: Target, data: Data, on: boolean): void {
  if (data.target !== "conversation") return;
  const label: LabelRef = { id: data.id as string, name: data.name as string, color: data.color as string };
  const { id } = data.conversation as { id: string };
  changeConversation(client, channel, id, (before) => {
    const others = before.labels.filter((one) => one.id !== label.id);
    return { ...before, labels: on ? [...others, label] : others };
  });
}

function refreshLists({ client, channel }: Target): void {
  askSlowly(client, { queryKey: keys.lists(channel) });
}

/** Asks where a conversation belongs that is not loaded: it is not known where it was listed and counted. */
function lookUp(target: Target): void {
  refreshLists(target);
  askPaced(target.client, [{ channel: target.channel, kind: "counts" }]);
}

/** Asks again for everything that the inbox shows. */
function refreshEverything(target: Target): void {
  lookUp(target);
  askAgain(target.client, { queryKey: keys.conversations(target.channel) });
  askAgain(target.client, { queryKey: keys.threads(target.channel) });
}
