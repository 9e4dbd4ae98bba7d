import { Engine } from "php-parser";
import { expect, test } from "vitest";
import { snippets } from "./snippets";

const LIST = snippets({ origin: "https://gate.example.com", key: "gpk_x", phone: "15550001111" });

test("every example has the reader's own values", () => {
  expect(LIST.map(({ id }) => id)).toEqual(["curl", "client", "python", "javascript", "php"]);
  for (const { code } of LIST) {
    for (const value of ["https://gate.example.com", "gpk_x", "15550001111"]) expect(code).toContain(value);
  }
});

// tests/console/test_developers_page.py runs the others.
test("the example in PHP can be parsed", () => {
  const code = LIST.find(({ id }) => id === "php")?.code ?? "";
  const parse = (text: string) => JSON.stringify(new Engine({}).parseCode(text, "example.php"));
  for (const value of ["https://gate.example.com/api/v1/message/send", "Authorization: Bearer gpk_x", "15550001111"]) {
    expect(parse(code)).toContain(`"value":"${value}"`);
  }
  expect(() => parse(code.replace("]);", ");"))).toThrow();
});
