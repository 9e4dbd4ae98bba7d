/** How people can react to messages. */

export const CHARACTERS = [
  ["normal", "Normal: sent, delivered, read"],
  ["quick", "Quick: in a fifth of the time"],
  ["slow", "Slow: in ten times the time"],
  ["in_chat", "In the chat: read at once"],
  ["silent", "Silent: never reads"],
  ["offline", "Offline: never delivered"],
  ["absent", "Not on the network: fails"],
  ["blocked", "Has blocked the business: fails"],
] as const;

export const READS = [
  ["automatic", "By character"],
  ["when_open", "Only when the chat is open"],
  ["never", "Never"],
] as const;
