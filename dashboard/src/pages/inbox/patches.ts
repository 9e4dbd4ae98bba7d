import type { QueryClient } from "@tanstack/react-query";
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
  const before = findConversation(client, channel, conversation.id);
  if (before) countChange(client, channel, before, conversation);
  client.setQueryData(keys.conversation(channel, conversation.id), conversation);
  for (const [key, data] of client.getQueriesData<ConversationPages>({ queryKey: keys.lists(channel) })) {
    const filter = key[3] as ListFilter;
    if (data) client.setQueryData<ConversationPages>(key, placeInList(data, conversation, filter));
  }
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
  putConversation(client, channel, change(known));
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

function findConversation(client: QueryClient, channel: string, id: string): Conversation | undefined {
  const open = client.getQueryData<Conversation>(keys.conversation(channel, id));
  if (open) return open;
  const lists = client.getQueriesData<ConversationPages>({ queryKey: keys.lists(channel) });
  return lists.flatMap(([, data]) => data?.pages.flatMap((page) => page.items) ?? []).find((one) => one.id === id);
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
  const pages = data.pages.map((page) =>
    page.items.some(({ key }) => key.id === id)
      ? { ...page, items: page.items.map((one) => (one.key.id === id ? change(one) : one)) }
      : page,
  );
  return { ...data, pages };
}

/** Shows a message in its thread, if that is loaded, and as the last one of its conversation. */
export function putMessage(client: QueryClient, channel: string, message: Message): void {
  client.setQueryData<MessagePages>(
    keys.thread(channel, message.conversation.id),
    (data) => data && placeInThread(data, message),
  );
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
  client.setQueriesData<MessagePages>(
    { queryKey: keys.threads(channel) },
    (data) => data && changeInThread(data, id, change),
  );
  const last = (one: Conversation): Conversation =>
    one.last_message?.key.id === id ? { ...one, last_message: change(one.last_message) } : one;
  client.setQueriesData<ConversationPages>(
    { queryKey: keys.lists(channel) },
    (data) => data && { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(last) })) },
  );
  client.setQueriesData<Conversation>({ queryKey: keys.conversations(channel) }, (one) => one && last(one));
}
