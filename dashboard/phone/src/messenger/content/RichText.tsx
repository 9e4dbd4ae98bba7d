import { useSignal } from "@preact/signals";
import { parseText, type Span } from "../logic/formatting";

const LONGEST = 1200; // characters that are shown before "Read more"

/** A text with its formatting and links. Everything in it is a text node. */
export function RichText({ text, class: className = "" }: { text: string; class?: string }) {
  const whole = useSignal(false);
  const cut = text.length > LONGEST && !whole.value;
  return (
    <p class={`rich-text ${className}`} dir="auto">
      <Spans spans={parseText(cut ? text.slice(0, LONGEST) : text)} />
      {cut ? (
        <>
          …{" "}
          <button
            type="button"
            class="text-button"
            onClick={() => {
              whole.value = true;
            }}
          >
            Read more
          </button>
        </>
      ) : null}
    </p>
  );
}

function Spans({ spans }: { spans: Span[] }) {
  return spans.map((span) => <SpanView span={span} />);
}

function SpanView({ span }: { span: Span }) {
  switch (span.kind) {
    case "text":
      return <>{span.text}</>;
    case "link":
      return <SafeLink href={span.href}>{span.text}</SafeLink>;
    case "code":
      return <code class={span.block ? "block" : ""}>{span.text}</code>;
    case "bold":
      return (
        <strong>
          <Spans spans={span.children} />
        </strong>
      );
    case "italic":
      return (
        <em>
          <Spans spans={span.children} />
        </em>
      );
    case "strike":
      return (
        <s>
          <Spans spans={span.children} />
        </s>
      );
  }
}

/** A link to another site, which learns nothing about this page. */
export function SafeLink({
  href,
  children,
  class: className = "",
}: {
  href: string;
  children: string;
  class?: string;
}) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" class={className}>
      {children}
    </a>
  );
}
