import { expect, test } from "vitest";
import { ApiProblem } from "../../shared/api/problem";
import type { Draft } from "./draftQueries";
import { advice, authorName, endWords, isWrittenSince, recipientName, stateNow } from "./draftWords";
import type { Conversation } from "./queries";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const draft = (part: Partial<Draft> = {}) =>
  ({
    state: "waiting",
    created_at: "2026-11-16T10:00:00Z",
    edited_at: null,
    expires_at: "2026-11-17T10:00:00Z",
    written_since: false,
    ...part,
  }) as Draft;
const last = (direction: "in" | "out", created_at: string) =>
  ({ last_message: { direction, created_at } }) as Conversation;

test("a draft expires at its time", () => {
  expect(stateNow(draft(), NOW)).toBe("waiting");
  expect(stateNow(draft({ expires_at: "2026-11-16T12:00:00Z" }), NOW)).toBe("expired");
  expect(stateNow(draft({ state: "sent", expires_at: "2026-11-16T12:00:00Z" }), NOW)).toBe("sent");
});

test("a message of the person after the draft is noticed, also before the gateway is asked again", () => {
  expect(isWrittenSince(draft({ written_since: true }))).toBe(true);
  expect(isWrittenSince(draft(), last("in", "2026-11-16T10:00:01Z"))).toBe(true);
  expect(isWrittenSince(draft(), last("in", "2026-11-16T09:59:59Z"))).toBe(false);
  expect(isWrittenSince(draft(), last("out", "2026-11-16T10:00:01Z"))).toBe(false);
  expect(isWrittenSince(draft({ edited_at: "2026-11-16T10:00:02Z" }), last("in", "2026-11-16T10:00:01Z"))).toBe(false);
});

test("people are named by what is known", () => {
  expect(authorName({ kind: "key", label: "Helper" })).toBe("Helper");
  expect(authorName({ kind: "user", label: null })).toBe("A former colleague");
  expect(recipientName({ contact: { id: "ct_1", phone: "55", name: "Ana" }, phone: "55" })).toBe("Ana");
  expect(recipientName({ contact: null, phone: "55" })).toBe("+55");
  expect(endWords(draft(), NOW)).toBeNull();
  expect(endWords(draft({ state: "refused", decided_by: { kind: "user", id: null, label: "Ana" } }), NOW)).toContain(
    "Ana refused it on",
  );
});

test("an error says what to do", () => {
  expect(advice(new ApiProblem("Closed.", 409, "window_closed"))).toContain("template");
  expect(advice(new Error("Something"))).toBe("The draft still waits.");
});
