import { expect, test } from "vitest";
import { FrameReader } from "./frames";

test("frames are read however the text is cut", () => {
  const text = 'retry: 2000\nid: evt_1\n\nid: evt_2\nevent: ack_notification\ndata: {"a":"b: c"}\n\n:\n\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const reader = new FrameReader();
    const frames = [...reader.read(text.slice(0, cut)), ...reader.read(text.slice(cut))];
    expect(frames).toEqual([{ id: "evt_1" }, { id: "evt_2", type: "ack_notification", data: '{"a":"b: c"}' }, {}]);
  }
});
