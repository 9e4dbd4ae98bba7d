import { expect, test } from "vitest";
import { findLinks, safeLink } from "./links";

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
