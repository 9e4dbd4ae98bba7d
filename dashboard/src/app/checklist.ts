import type { Schemas } from "../shared/api/client";

export type Checklist = Schemas["Checklist"];
export type Step = {
  name: keyof Checklist;
  title: string;
  text: string;
  to?: "/channels/new" | "/webhooks";
  action?: string;
};

export const STEPS: Step[] = [
  {
    name: "channel_connected",
    title: "Connect a number",
    text: "An official number, or a phone by QR code.",
    to: "/channels/new",
    action: "Add a channel",
  },
  { name: "message_sent", title: "Send a message", text: "Here in the inbox, or with the API." },
  {
    name: "webhook_added",
    title: "Add a webhook",
    text: "Your server gets every message and status.",
    to: "/webhooks",
    action: "Add an endpoint",
  },
];

export function isDone(list: Checklist): boolean {
  return STEPS.every(({ name }) => list[name]);
}

const HIDDEN = "gatepost.first-steps.hidden.";

/** Whether this person has hidden the list in this browser. */
export function isHidden(userId: string): boolean {
  return localStorage.getItem(HIDDEN + userId) !== null;
}

export function hide(userId: string): void {
  localStorage.setItem(HIDDEN + userId, "1");
}
