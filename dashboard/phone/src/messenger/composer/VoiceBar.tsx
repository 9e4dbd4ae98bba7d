import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { mediaOf } from "../logic/files";
import { duration } from "../logic/times";
import type { OpenChat } from "../phone";
import { IconButton } from "../ui/IconButton";
import { NoMicrophoneSheet } from "./AttachSheet";
import { microphoneProblem, type Recording, record, recordingProblem } from "./recorder";

/** A recording in progress, in the place of the text field. */
export function VoiceBar({ open, onEnd }: { open: OpenChat; onEnd: () => void }) {
  const recording = useRef<Recording | null>(null);
  const seconds = useSignal(0);
  const ready = useSignal(false);
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    let here = true;
    const begin = async () => {
      const problem = recordingProblem();
      if (problem) throw new Error(problem);
      const started = await record();
      if (!here) return started.cancel();
      recording.current = started;
      ready.value = true;
    };
    begin().catch((error: unknown) => {
      if (!here) return;
      end.current();
      open.phone.show(<NoMicrophoneSheet open={open} problem={recordingProblem() ?? microphoneProblem(error)} />);
    });
    const timer = setInterval(() => {
      if (ready.value) seconds.value += 1;
    }, 1000);
    return () => {
      here = false;
      clearInterval(timer);
      recording.current?.cancel();
    };
  }, [open, ready, seconds]);
  const send = async () => {
    const sound = await recording.current?.finish();
    recording.current = null;
    onEnd();
    if (!sound) return open.phone.say("Nothing was recorded.");
    await open.send(await mediaOf({ blob: sound, kind: "audio", filename: "voice", voice: true }, ""));
  };
  return (
    <div class="composer voice-bar">
      <IconButton icon="trash" label="Cancel the recording" onClick={onEnd} />
      <p role="status" class="recording">
        <i aria-hidden="true" />
        <span>{ready.value ? "Recording" : "Waiting for the microphone…"}</span>
        <span class="audio-time" aria-hidden="true">
          {duration(seconds.value)}
        </span>
      </p>
      <IconButton icon="send" label="Send the voice message" class="primary" disabled={!ready.value} onClick={send} />
    </div>
  );
}
