export type Frame = { id?: string; type?: string; data?: string };

/** Reads server-sent events from pieces of text. A frame is complete when an empty line ends it. */
export class FrameReader {
  private rest = "";

  read(piece: string): Frame[] {
    const parts = (this.rest + piece).split("\n\n");
    this.rest = parts.pop() ?? "";
    return parts.map(readFrame);
  }
}

function readFrame(text: string): Frame {
  const frame: Frame = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon < 1) continue; // a comment, which the gateway sends as a heartbeat
    const value = line.slice(colon + 1).replace(/^ /, "");
    const name = line.slice(0, colon);
    if (name === "id") frame.id = value;
    if (name === "event") frame.type = value;
    if (name === "data") frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
  }
  return frame;
}
