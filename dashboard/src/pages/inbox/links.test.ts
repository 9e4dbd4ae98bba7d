import { expect, test } from "vitest";
import { findLinks, phoneAddress, safeLink } from "./links";

test("addresses of http and https become links, without what ends the sentence", () => {
  expect(findLinks("See https://example.com/a?b=1. Or (http://x.example)!")).toEqual([
    { text: "See " },
    { text: "https://example.com/a?b=1", href: "https://example.com/a?b=1" },
    { text: ". Or (" },
    { text: "http://x.example", href: "http://x.example/" },
    { text: ")!" },
  ]);
});

test("nothing else becomes a link", () => {
  for (const text of [
    "javascript:alert(1)",
    "data:text/html,<b>x",
    "www.example.com",
    "<img src=x onerror=alert(1)>",
  ]) {
    expect(findLinks(text)).toEqual([{ text }]);
  }
  expect(safeLink("JaVaScRiPt:alert(1)")).toBeUndefined();
  expect(safeLink(" javascript:alert(1)")).toBeUndefined();
  expect(safeLink(null)).toBeUndefined();
});

test("the phone of a person is at the sandbox, if that is the network of the channel", () => {
  const official = { phone: "15550001111", network: { phone_number_id: "1001" }, sandbox_url: "http://127.0.0.1:8081" };
  expect(phoneAddress(official, "5511")).toBe("http://127.0.0.1:8081/#/5511/1001");
  expect(phoneAddress({ ...official, network: {} }, "5511")).toBe("http://127.0.0.1:8081/#/5511/15550001111");
  expect(phoneAddress({ ...official, sandbox_url: undefined }, "5511")).toBeNull();
});
