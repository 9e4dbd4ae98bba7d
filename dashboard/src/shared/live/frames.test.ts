import { expect, test } from "vitest";
import { FrameReader } from "./frames";

test("frames are read however the text is cut", () => {
  const text = 'retry: 2000\nid: a1.x\n\nid: a1.y\nevent: ack_notification\ndata: {"a":"b: c"}\n\n:\n\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const reader = new FrameReader();
    const frames = [...reader.read(text.slice(0, cut)), ...reader.read(text.slice(cut))];
    expect(frames).toEqual([{ id: "a1.x" }, { id: "a1.y", type: "ack_notification", data: '{"a":"b: c"}' }, {}]);
  }
});
