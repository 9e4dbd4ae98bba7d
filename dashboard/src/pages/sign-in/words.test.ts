import { expect, test } from "vitest";
import { ApiProblem, GatewayUnreachable } from "../../shared/api/problem";
import { signInWords } from "./words";

const refused = (status: number, code: string) => new ApiProblem("The gateway's words.", status, code);

test("each refusal has its own words", () => {
  expect(signInWords(refused(401, "code_required"), 0)).toBeNull();
  expect(signInWords(refused(401, "invalid_credentials"), 0)).toMatch(/wrong/);
  expect(signInWords(refused(401, "invalid_code"), 0)).toMatch(/code is not valid/);
  expect(signInWords(refused(429, "rate_limited"), 12)).toMatch(/in 12 seconds/);
  expect(signInWords(refused(429, "rate_limited"), 1)).toMatch(/in 1 second\./);
  expect(signInWords(refused(429, "rate_limited"), 0)).toMatch(/now/);
  expect(signInWords(refused(403, "wrong_origin"), 0)).toBe("The gateway's words.");
  expect(signInWords(new GatewayUnreachable(), 0)).toMatch(/does not answer/);
});
