import type { Look } from "../../shared/ui/StatusBadge";
import type { McpCall } from "./mcpQueries";
import type { Outcome } from "./search";

const LOOKS: Record<Outcome, Look> = {
  done: { label: "Done", color: "teal" },
  sent: { label: "Sent", color: "teal" },
  draft: { label: "Draft", color: "yellow" },
  dry_run: { label: "Dry run", color: "gray" },
  repeated: { label: "Repeated", color: "gray" },
  refused: { label: "Refused", color: "orange" },
  failed: { label: "Failed", color: "red" },
};

export function outcomeLook(outcome: Outcome): Look {
  return LOOKS[outcome];
}

/** Why a call ended as it did: the rule of the policy, or the code of the error. */
export function causeOf({ rule, code }: Pick<McpCall, "rule" | "code">): string {
  return rule ?? code ?? "";
}

export type Linked = { id: string; kind: "message" | "draft" | "conversation" | "other" };

const KINDS: Record<string, Linked["kind"]> = { drf: "draft", cv: "conversation" };
const MESSAGE = /^[0-9A-F]{32}$/;

/** What a call made or changed. */
export function linksOf(ids: readonly string[]): Linked[] {
  return ids.map((id) => ({ id, kind: MESSAGE.test(id) ? "message" : (KINDS[id.split("_")[0] ?? ""] ?? "other") }));
}
