import type { QueryClient } from "@tanstack/react-query";
import { patch, rowsOf } from "../../shared/lists";
import { countChange } from "./counts";
import { type Conversation, type ConversationPages, keys, type Message, type MessagePages } from "./queries";
import type { ListFilter } from "./search";

/** Whether a conversation belongs into a list. `before`: it was there, which decides for a search. */
export function fits(conversation: Conversation, filter: ListFilter, before: boolean): boolean {
  if (filter.q && !before) return false;
  if (filter.status && conversation.status !== filter.status) return false;
  if (filter.unread && conversation.unread === 0) return false;
  if (filter.archived && conversation.archived) return false;
  if (filter.window && !before) return false; // the gateway knows which windows close soon
  if (filter.label && !conversation.labels.some(({ id }) => id === filter.label)) return false;
  if (filter.assignee === "none") return conversation.assignee === null;
  return !filter.assignee || conversation.assignee === filter.assignee;
}

/** Puts a conversation at its place in a list: the one with the newest message is first. */
export function placeInList(
  data: ConversationPages,
  conversation: Conversation,
  filter: ListFilter,
): ConversationPages {
  const before = data.pages.flatMap((page) => page.items).find(({ id }) => id === conversation.id);
  const moved = !before || before.last_message?.key.id !== conversation.last_message?.key.id;
  const stays = fits(conversation, filter, before !== undefined);
  const pages = data.pages.map((page, index) => {
    let items = page.items;
    if (before && (moved || !stays)) items = items.filter(({ id }) => id !== conversation.id);
    else if (before) items = items.map((one) => (one.id === conversation.id ? conversation : one));
    if (index === 0 && moved && stays) items = [conversation, ...items];
    return items === page.items ? page : { ...page, items };
  });
  return { ...data, pages };
}

/** Shows a conversation as it is now, in its thread and in every list. */
export function putConversation(client: QueryClient, channel: string, conversation: Conversation): void {
  const known = findConversation(client, channel, conversation.id);
  if (known) countChange(client, channel, known.conversation, conversation);
  const queryKey = keys.conversation(channel, conversation.id);
  client.setQueryData(queryKey, conversation);
  if (known?.isOld) void client.invalidateQueries({ queryKey, exact: true, refetchType: "none" });
  patch<ConversationPages>(client, { queryKey: keys.lists(channel) }, (data, key) =>
    placeInList(data, conversation, key[3] as ListFilter),
  );
}

/** Changes a conversation where it is known. Returns whether it was. */
export function changeConversation(
  client: QueryClient,
  channel: string,
  id: string,
  change: (before: Conversation) => Conversation,
): boolean {
  const known = findConversation(client, channel, id);
  if (!known) return false;
  putConversation(client, channel, change(known.conversation));
  return true;
}

/** Shows the fields of a conversation that a request has changed. The rest of its answer may be older than an event. */
export function takeOver(
  client: QueryClient,
  channel: string,
  answer: Conversation,
  fields: readonly (keyof Conversation)[],
): void {
  const changed = Object.fromEntries(fields.map((name) => [name, answer[name]]));
  changeConversation(client, channel, answer.id, (before) => ({ ...before, ...changed }));
}

type Known = { conversation: Conversation; isOld: boolean };

/** What is known of a conversation, rather where it is up to date: one that was open before may not be. */
function findConversation(client: QueryClient, channel: string, id: string): Known | undefined {
  const open = client.getQueryState<Conversation>(keys.conversation(channel, id));
  if (open?.data && !open.isInvalidated) return { conversation: open.data, isOld: false };
  const known: Known[] = open?.data ? [{ conversation: open.data, isOld: true }] : [];
  for (const { state } of client.getQueryCache().findAll({ queryKey: keys.lists(channel) })) {
    const conversation = rowsOf(state.data as ConversationPages | undefined).find((row) => row.id === id);
    if (conversation) known.push({ conversation, isOld: state.isInvalidated });
  }
  return known.find(({ isOld }) => !isOld) ?? known[0];
}

/**
 * Puts a message at its place in its thread, which is in the order of ids, the newest first: a message of a phone that
 * was offline is older than it seems. One that is there already is not changed: it may have a later status.
 */
export function placeInThread(data: MessagePages, message: Message): MessagePages {
  const { id } = message.key;
  const upTo = (one: Message) => one.key.id <= id;
  const index = data.pages.findIndex(({ items, next }) => next === null || items.some(upTo));
  const page = data.pages[index];
  if (!page) return data; // it belongs to a page that is not loaded
  const at = page.items.findIndex(upTo);
  const place = at < 0 ? page.items.length : at;
  if (page.items[place]?.key.id === id) return data;
  return { ...data, pages: data.pages.with(index, { ...page, items: page.items.toSpliced(place, 0, message) }) };
}

export function changeInThread(data: MessagePages, id: string, change: (before: Message) => Message): MessagePages {
  const has = ({ items }: MessagePages["pages"][number]) => items.some(({ key }) => key.id === id);
  if (!data.pages.some(has)) return data;
  const pages = data.pages.map((page) =>
    has(page) ? { ...page, items: page.items.map((one) => (one.key.id === id ? change(one) : one)) } : page,
  );
  return { ...data, pages };
}

/** Shows a message in its thread, if that is loaded, and as the last one of its conversation. */
export function putMessage(client: QueryClient, channel: string, message: Message): void {
  const queryKey = keys.thread(channel, message.conversation.id);
  patch<MessagePages>(client, { queryKey, exact: true }, (data) => placeInThread(data, message));
  changeConversation(client, channel, message.conversation.id, (before) => {
    const last = before.last_message;
    return !last || last.key.id < message.key.id ? { ...before, last_message: message } : before;
  });
}

/** Changes a message wherever it is shown. */
export function changeMessage(
  client: QueryClient,
  channel: string,
  id: string,
  change: (before: Message) => Message,
): void {
  patch<MessagePages>(client, { queryKey: keys.threads(channel) }, (data) => changeInThread(data, id, change));
  const isLast = (one: Conversation) => one.last_message?.key.id === id;
  const last = (one: Conversation): Conversation =>
    isLast(one) && one.last_message ? { ...one, last_message: change(one.last_message) } : one;
  patch<ConversationPages>(client, { queryKey: keys.lists(channel) }, (data) =>
    rowsOf(data).some(isLast)
      ? { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(last) })) }
      : data,
  );
  patch(client, { queryKey: keys.conversations(channel) }, last);
}
