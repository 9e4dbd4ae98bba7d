import { isProblem } from "../../shared/api/problem";
import { inFull } from "../../shared/times";
import type { Look } from "../../shared/ui/StatusBadge";
import { visibleName } from "../../shared/visibleName";
import type { Draft, DraftState } from "./draftQueries";

export const DRAFT_STATES: DraftState[] = ["waiting", "sent", "refused", "expired"];

const LOOKS: Record<DraftState, Look> = {
  waiting: { label: "Waiting", color: "yellow" },
  sent: { label: "Sent", color: "teal" },
  refused: { label: "Refused", color: "gray" },
  expired: { label: "Expired", color: "gray" },
};

export function draftLook(state: DraftState): Look {
  return LOOKS[state];
}

type Author = { kind: string; label: string | null } | null;

/** Who made, edited or decided a draft. */
export function authorName(author: Author): string {
  if (author?.label) return author.label;
  if (author?.kind === "user") return "A former colleague";
  return author?.kind === "operator" ? "The operator" : "A key";
}

type Recipient = Pick<Draft, "contact" | "phone">;

/** The person that a draft is for. */
export function recipientName({ contact, phone }: Recipient): string {
  const number = contact?.phone ?? phone;
  return visibleName(contact?.name) || (number ? `+${number}` : "Hidden number");
}

/** The state now: a draft expires without a message about it. */
export function stateNow({ state, expires_at }: Pick<Draft, "state" | "expires_at">, now: number): DraftState {
  return state === "waiting" && Date.parse(expires_at) <= now ? "expired" : state;
}

/** How a draft ended. */
export function endWords(draft: Draft, now: number): string | null {
  switch (stateNow(draft, now)) {
    case "sent":
      return `${authorName(draft.decided_by)} sent it on ${inFull(draft.decided_at ?? draft.created_at)}.`;
    case "refused":
      return `${authorName(draft.decided_by)} refused it on ${inFull(draft.decided_at ?? draft.created_at)}.`;
    case "expired":
      return `Nobody decided until ${inFull(draft.expires_at)}. It cannot be sent any more.`;
    case "waiting":
      return null;
  }
}

/** Whether somebody else has decided, or the time is over. */
export function isDecidedElsewhere(error: unknown): boolean {
  return isProblem(error, "wrong_state") || isProblem(error, "not_found");
}

export function isConversationChanged(error: unknown): boolean {
  return isProblem(error, "conversation_changed");
}

const EDIT = "Edit the draft, or refuse it.";
const ADVICE: Record<string, string> = {
  window_closed: "Refuse the draft, and send a template instead.",
  plan_quota_exceeded: "Change the plan to send it this month.",
  api_access_required: "Choose a plan, then send it.",
  opted_out: "Refuse the draft.",
  template_not_approved: "Refuse the draft, and send another template.",
  template_variables_mismatch: EDIT,
  invalid_field: EDIT,
  invalid_phone: "Refuse the draft.",
};

/** What to do about a draft that could not be sent. */
export function advice(error: unknown): string {
  const code = Object.keys(ADVICE).find((one) => isProblem(error, one));
  return (code && ADVICE[code]) ?? "The draft still waits.";
}
