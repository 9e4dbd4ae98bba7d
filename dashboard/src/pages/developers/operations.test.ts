import { expect, test } from "vitest";
import { mayCall, prepare, readOperations } from "./operations";

const security = [{ bearer: ["manage"] }, { session: ["manage"] }, { session: ["agent"] }];
const json = { content: { "application/json": { example: { name: "VIP" } } } };
const DOCUMENT = {
  paths: {
    "/api/v1/labels/{label_id}": {
      patch: {
        tags: ["labels"],
        summary: "Change a label",
        parameters: [
          { name: "label_id", in: "path", required: true, schema: { type: "string" } },
          { name: "dry", in: "query", schema: { enum: ["true", "false"], default: "false" } },
          { name: "Idempotency-Key", in: "header", schema: {} },
          { name: "Gatepost-CSRF", in: "header", schema: {} },
          { name: "Gatepost-Channel", in: "header", schema: {} },
        ],
        security,
        requestBody: json,
        responses: {},
      },
    },
    "/api/v1/media": { post: { security, requestBody: { content: { "multipart/form-data": {} } }, responses: {} } },
    "/api/v1/events/stream": { get: { security, responses: { 200: { content: { "text/event-stream": {} } } } } },
    "/api/v1/account": { get: { security: [{ session: [] }], responses: {} } },
    "/healthz": { get: { security: [], responses: {} } },
  },
};

test("operations of programs with JSON are read, without what the console sets itself", () => {
  const [change, ...others] = readOperations(DOCUMENT);
  expect(others).toEqual([]);
  expect(change).toMatchObject({ id: "PATCH /api/v1/labels/{label_id}", group: "labels", summary: "Change a label" });
  expect(change?.parameters.map(({ name }) => name)).toEqual(["label_id", "dry", "Idempotency-Key"]);
  expect(JSON.parse(change?.body ?? "")).toEqual({ name: "VIP" });
});

test("a role that has one of the needs may send", () => {
  const [change] = readOperations(DOCUMENT);
  if (!change) throw new Error("none");
  expect(mayCall(change, ["send", "read", "manage"], "owner")).toBe(true);
  expect(mayCall(change, ["send", "read"], "agent")).toBe(true);
  expect(mayCall(change, ["read"], "reader")).toBe(false);
});

test("values are put into path, query and headers; a required one must be there", () => {
  const [change] = readOperations(DOCUMENT);
  if (!change) throw new Error("none");
  expect(prepare(change, { label_id: " " })).toEqual({ missing: ["label_id"] });
  expect(prepare(change, { label_id: "a/b?", dry: "true", "Idempotency-Key": "one" })).toEqual({
    path: "/api/v1/labels/a%2Fb%3F?dry=true",
    headers: { "Idempotency-Key": "one" },
  });
});
