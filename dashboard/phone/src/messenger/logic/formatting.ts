/** Formatting of messages: *bold*, _italic_, ~strike~, `code` and links, as a tree of spans. Nothing becomes markup. */

export type Style = "bold" | "italic" | "strike";
export type Span =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string; block: boolean }
  | { kind: "link"; text: string; href: string }
  | { kind: Style; children: Span[] };

const STYLES: Record<string, Style> = { "*": "bold", _: "italic", "~": "strike" };
const LINK = /(?:https?:\/\/|www\.)[^\s<>"]+/iuy;
const AFTER_LINK = /[.,!?;:'")\]}*_~]+$/u;
const WORD = /[\p{L}\p{N}]/u;

/** Return the spans of a text. */
export function parseText(text: string): Span[] {
  return new Parser(text).spans(0, text.length, new Set());
}

/** Return a safe address for a link, or null if it is not http or https. */
export function safeLink(address: string | null | undefined): string | null {
  if (!address) return null;
  try {
    const url = new URL(/^www\./i.test(address) ? `https://${address}` : address);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

class Parser {
  constructor(private readonly text: string) {}

  /** Parse from `start` to `end`; the styles in `inside` are open already. */
  spans(start: number, end: number, inside: Set<string>): Span[] {
    const found: Span[] = [];
    const hopeless = new Map<string, number>(); // marker → end of the line on which it has no partner
    let plain = start;
    let at = start;
    const add = (span: Span, next: number) => {
      if (at > plain) found.push({ kind: "text", text: this.text.slice(plain, at) });
      found.push(span);
      plain = at = next;
    };
    while (at < end) {
      const special = this.link(at, end) ?? this.code(at, end) ?? this.styled(at, end, inside, hopeless);
      if (special) add(special.span, special.next);
      else at += 1;
    }
    if (end > plain) found.push({ kind: "text", text: this.text.slice(plain, end) });
    return found;
  }

  private link(at: number, end: number): { span: Span; next: number } | null {
    const first = this.text[at];
    if (first !== "h" && first !== "H" && first !== "w" && first !== "W") return null;
    if (this.isWord(at - 1)) return null;
    LINK.lastIndex = at;
    const match = LINK.exec(this.text)?.[0]
      .slice(0, end - at)
      .replace(AFTER_LINK, "");
    const href = safeLink(match);
    return match && href ? { span: { kind: "link", text: match, href }, next: at + match.length } : null;
  }

  private code(at: number, end: number): { span: Span; next: number } | null {
    if (this.text[at] !== "`") return null;
    const block = this.text.startsWith("```", at);
    const mark = block ? "```" : "`";
    const close = this.text.indexOf(mark, at + mark.length);
    if (close < 0 || close + mark.length > end) return null;
    const inner = this.text.slice(at + mark.length, close);
    if (!inner.trim() || (!block && inner.includes("\n"))) return null;
    return { span: { kind: "code", text: inner, block }, next: close + mark.length };
  }

  private styled(at: number, end: number, inside: Set<string>, hopeless: Map<string, number>) {
    const mark = this.text[at] ?? "";
    const kind = STYLES[mark];
    if (!kind || inside.has(mark) || at < (hopeless.get(mark) ?? 0)) return null;
    if (this.isWord(at - 1) || this.isBlank(at + 1)) return null;
    const line = this.text.indexOf("\n", at);
    const stop = line < 0 ? end : Math.min(line, end);
    for (let close = at + 2; close < stop; close += 1) {
      if (this.text[close] !== mark || this.isBlank(close - 1) || (close + 1 < end && this.isWord(close + 1))) continue;
      const children = this.spans(at + 1, close, new Set([...inside, mark]));
      return { span: { kind, children } as Span, next: close + 1 };
    }
    hopeless.set(mark, stop);
    return null;
  }

  private isWord(at: number): boolean {
    return at >= 0 && at < this.text.length && WORD.test(this.text[at] ?? "");
  }

  private isBlank(at: number): boolean {
    return at >= this.text.length || /\s/u.test(this.text[at] ?? " ");
  }
}

/** Return a text without its formatting marks, for a single line. */
export function plainText(text: string): string {
  const flat = (spans: Span[]): string =>
    spans.map((span) => ("children" in span ? flat(span.children) : span.text)).join("");
  return flat(parseText(text.slice(0, 400)))
    .replace(/\s+/gu, " ")
    .trim();
}
