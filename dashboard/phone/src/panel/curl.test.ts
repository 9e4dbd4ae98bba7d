import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { curlOf, quote } from "./curl";

const ORIGIN = "http://127.0.0.1:8081";

test("a request is a curl line", () => {
  expect(curlOf({ method: "GET", path: "people" }, ORIGIN)).toBe("curl http://127.0.0.1:8081/control/people");
  expect(curlOf({ method: "DELETE", path: "faults/f1" }, ORIGIN)).toBe(
    "curl -X DELETE http://127.0.0.1:8081/control/faults/f1",
  );
  expect(curlOf({ method: "POST", path: "clock", body: { advance: 60 } }, ORIGIN)).toBe(
    `curl -X POST http://127.0.0.1:8081/control/clock -H 'content-type: application/json' -d '{"advance":60}'`,
  );
  expect(curlOf({ method: "GET", path: "ledger?after=1&limit=2" }, ORIGIN)).toBe(
    "curl 'http://127.0.0.1:8081/control/ledger?after=1&limit=2'",
  );
});

test.each([
  "plain",
  "",
  "it's",
  "''",
  "a b",
  "$HOME `id` \\",
  "!!",
  "*?[a]{b,c}",
  'a"b',
  "-x",
  "line\nbreak",
  "Zoë 🎉",
  "~",
])("a shell reads %j as one word", (word) => {
  expect(execFileSync("sh", ["-c", `printf %s ${quote(word)}`], { encoding: "utf8" })).toBe(word);
});
