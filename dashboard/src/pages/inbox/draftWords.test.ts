import { expect, test } from "vitest";
import { ApiProblem } from "../../shared/api/problem";
import type { Draft } from "./draftQueries";
import { advice, authorName, endWords, recipientName, stateNow } from "./draftWords";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const draft = (part: Partial<Draft> = {}) =>
  ({
    state: "waiting",
    created_at: "2026-11-16T10:00:00Z",
    expires_at: "2026-11-17T10:00:00Z",
    ...part,
  }) as Draft;

test("a draft expires at its time", () => {
  expect(stateNow(draft(), NOW)).toBe("waiting");
  expect(stateNow(draft({ expires_at: "2026-11-16T12:00:00Z" }), NOW)).toBe("expired");
  expect(stateNow(draft({ state: "sent", expires_at: "2026-11-16T12:00:00Z" }), NOW)).toBe("sent");
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
