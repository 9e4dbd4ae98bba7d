/** Recording with the microphone. */

import { readWebm, writeOgg } from "../logic/ogg";

// Phones send Opus in Ogg. Some browsers record only WebM, whose sound is put into Ogg; the others are sent as they are.
const TYPES = ["audio/ogg;codecs=opus", "audio/webm;codecs=opus", "audio/mp4", ""];
const LONGEST = 15 * 60_000; // ms

export interface Recording {
  /** End it and return the sound; null if nothing was recorded. */
  finish: () => Promise<Blob | null>;
  /** End it and drop the sound. */
  cancel: () => void;
}

/** Return why the page cannot record, or null. */
export function recordingProblem(): string | null {
  if (typeof MediaRecorder === "undefined") return "This browser cannot record.";
  if (!globalThis.isSecureContext || !navigator.mediaDevices) {
    return "Browsers give the microphone only to pages on localhost or with https.";
  }
  return null;
}

/** Return what an error of the microphone means. */
export function microphoneProblem(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError")
    return "The browser was not allowed to use the microphone.";
  if (name === "NotFoundError" || name === "DevicesNotFoundError") return "There is no microphone.";
  if (name === "NotReadableError") return "Another program uses the microphone.";
  return "The microphone cannot be used.";
}

/** Ask for the microphone and record. */
export async function record(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const mimeType = TYPES.find((type) => !type || MediaRecorder.isTypeSupported(type)) ?? "";
  const recorder = new MediaRecorder(stream, mimeType ? { mimeType } : {});
  const pieces: Blob[] = [];
  recorder.ondataavailable = (event) => pieces.push(event.data);
  const stopped = new Promise<void>((resolve) => {
    recorder.onstop = () => resolve();
  });
  const timer = setTimeout(() => end(), LONGEST);
  const end = () => {
    clearTimeout(timer);
    if (recorder.state !== "inactive") recorder.stop();
    for (const track of stream.getTracks()) track.stop();
  };
  recorder.start();
  return {
    cancel: end,
    finish: async () => {
      end();
      await stopped;
      const sound = new Blob(pieces, { type: recorder.mimeType });
      return sound.size ? inOgg(sound) : null;
    },
  };
}

/** Return Opus sound of a WebM file in Ogg; anything else as it is. */
async function inOgg(sound: Blob): Promise<Blob> {
  if (!sound.type.startsWith("audio/webm")) return sound;
  const opus = readWebm(new Uint8Array(await sound.arrayBuffer()));
  return opus ? new Blob(writeOgg(opus) as BlobPart[], { type: "audio/ogg; codecs=opus" }) : sound;
}
