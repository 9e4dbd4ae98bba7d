import { describe, expect, it } from "vitest";
import { parseText, plainText, type Span, safeLink } from "./formatting";

const text = (value: string): Span => ({ kind: "text", text: value });

describe("formatting", () => {
  it("leaves plain text alone", () => {
    expect(parseText("Hello 5 * 3 = 15, snake_case_name ~")).toEqual([text("Hello 5 * 3 = 15, snake_case_name ~")]);
    expect(parseText("")).toEqual([]);
  });

  it("finds bold, italic, strike and code", () => {
    expect(parseText("a *b* _c_ ~d~ `e`")).toEqual([
      text("a "),
      { kind: "bold", children: [text("b")] },
      text(" "),
      { kind: "italic", children: [text("c")] },
      text(" "),
      { kind: "strike", children: [text("d")] },
      text(" "),
      { kind: "code", text: "e", block: false },
    ]);
  });

  it("nests styles, and not in themselves", () => {
    expect(parseText("*a _b_*")).toEqual([
      { kind: "bold", children: [text("a "), { kind: "italic", children: [text("b")] }] },
    ]);
    expect(parseText("**")).toEqual([text("**")]);
  });

  it("does not cross lines, and formats nothing in code", () => {
    expect(parseText("*a\nb*")).toEqual([text("*a\nb*")]);
    expect(parseText("```*a*\n_b_```")).toEqual([{ kind: "code", text: "*a*\n_b_", block: true }]);
  });

  it("links addresses with http and https only", () => {
    expect(parseText("see https://example.com/a_b_c.")).toEqual([
      text("see "),
      { kind: "link", text: "https://example.com/a_b_c", href: "https://example.com/a_b_c" },
      text("."),
    ]);
    expect(parseText("*https://example.com*")).toEqual([
      { kind: "bold", children: [{ kind: "link", text: "https://example.com", href: "https://example.com/" }] },
    ]);
    expect(parseText("www.example.com")[0]).toMatchObject({ href: "https://www.example.com/" });
    for (const evil of ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "http://", "xhttps://a.b"]) {
      expect(parseText(evil)).toEqual([text(evil)]);
    }
  });

  it("keeps markup as text", () => {
    const evil = "<img src=x onerror=ran=1><script>ran=1</script>";
    expect(parseText(evil)).toEqual([text(evil)]);
  });

  it("is fast for hostile texts", () => {
    for (const part of ["*a ", "_*~", "`", "*_", "https://", "www.", "```"]) {
      expect(parseText(part.repeat(20_000)).length).toBeGreaterThan(0); // slow parsing exceeds the time of a test
    }
  });
});

it("allows only http and https", () => {
  expect(safeLink("https://a.example/x")).toBe("https://a.example/x");
  for (const one of ["javascript:alert(1)", " javascript:alert(1)", "//a.example", "file:///etc", "", null]) {
    expect(safeLink(one)).toBeNull();
  }
});

it("makes one plain line", () => {
  expect(plainText("*Hello*\n  _you_ https://a.example ")).toBe("Hello you https://a.example");
});
