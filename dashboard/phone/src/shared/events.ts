/** Server-sent events, read from a stream in pieces of any size. */

export interface StreamEvent {
  event: string;
  data: string;
}

/** Returns a function that takes the next piece of the stream and returns the events that it completes. */
export function eventReader(): (piece: string) => StreamEvent[] {
  let rest = "";
  return (piece) => {
    const blocks = (rest + piece).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    return blocks.map(parse).filter((event) => event !== null);
  };
}

function parse(block: string): StreamEvent | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "event") event = value ?? "";
    else if (field === "data") data.push(value ?? "");
  }
  return data.length ? { event, data: data.join("\n") } : null;
}
