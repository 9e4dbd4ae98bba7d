import { expect, test } from "vitest";
import type { FailureCount } from "./queries";
import { failureAdvice, failureTitle } from "./words";

const failure = (part: Partial<FailureCount>) => ({ code: "1", title: null, advice: null, ...part }) as FailureCount;

test("the words of the network come first, without the code", () => {
  const known = failure({ code: "131026", title: "(#131026) Message undeliverable", advice: "Check the number." });
  expect([failureTitle(known), failureAdvice(known)]).toEqual(["Message undeliverable", "Check the number."]);
});

test("codes of the gateway and unknown codes have words too", () => {
  expect(failureTitle(failure({ code: "expired" }))).toBe("Waited longer than its time to live");
  expect(failureTitle(failure({ code: "7" }))).toBe("Error 7");
  expect(failureAdvice(failure({ code: "7" }))).toMatch(/Open one of these messages/);
});
