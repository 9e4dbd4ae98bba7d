import { expect, test } from "vitest";
import { ApiProblem, GatewayUnreachable, readProblem } from "./problem";

const answer = (status: number, headers: Record<string, string> = {}) => new Response(null, { status, headers });

const FIELDS = [
  { field: "headers.X-A", message: "is wrong" },
  { field: "phones[3]", message: "is not a number" },
];

test("a refusal keeps its code, words, fields and waiting time", () => {
  const problem = readProblem(answer(429, { "Retry-After": "30" }), {
    success: false,
    message: "Too many requests.",
    error: { code: "rate_limited", fields: FIELDS, request_id: "req_1" },
  }) as ApiProblem;
  expect(problem).toBeInstanceOf(ApiProblem);
  expect(problem).toMatchObject({ status: 429, code: "rate_limited", retryAfter: 30, requestId: "req_1" });
  expect(problem.message).toBe("Too many requests.");
  expect(problem.field("headers")).toBe("is wrong");
  expect(problem.field("phones")).toBe("is not a number");
  expect(problem.field("head")).toBeUndefined();
  expect(problem.field("url")).toBeUndefined();
});

test("a proxy that answers for the gateway means that the gateway is gone", () => {
  expect(readProblem(answer(502), "<h1>Bad gateway</h1>")).toBeInstanceOf(GatewayUnreachable);
  expect(readProblem(answer(404), undefined)).toBeInstanceOf(ApiProblem);
  expect(readProblem(answer(413), "<h1>Request Entity Too Large</h1>").message).toContain("Ask the operator");
});
