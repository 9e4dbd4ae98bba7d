/** Files that a person attaches. */

import type { MediaKind, Send } from "../types";
import { sizeWord } from "./words";

export const LARGEST = 16_000_000; // bytes: with base64 it fits into a request of the control API

const IMAGES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** Return how a file is sent: a picture, a video and audio as such, everything else as a document. */
export function kindOf(mimeType: string): MediaKind {
  const type = mimeType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (IMAGES.has(type)) return "image";
  if (type.startsWith("video/")) return "video";
  return type.startsWith("audio/") ? "audio" : "document";
}

/** Return why a file cannot be sent, or null. */
export function fileProblem(file: { size: number; name: string }): string | null {
  if (!file.size) return `${file.name} is empty.`;
  return file.size > LARGEST
    ? `${file.name} has ${sizeWord(file.size)}; the sandbox takes at most ${sizeWord(LARGEST)}. Choose a smaller file.`
    : null;
}

/** Return the content of a file in base64. */
export function base64Of(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(new Error("The file cannot be read."));
    reader.readAsDataURL(file);
  });
}

export interface Attachment {
  blob: Blob;
  kind: MediaKind;
  filename: string;
  voice: boolean;
}

/** Return what is sent for a file. */
export async function mediaOf(attachment: Attachment, caption: string): Promise<Send> {
  const { blob, kind, filename, voice } = attachment;
  return {
    type: "media",
    kind,
    data: await base64Of(blob),
    mime_type: blob.type || "application/octet-stream",
    ...(voice ? { voice } : { filename }),
    ...(caption.trim() && !voice && kind !== "sticker" ? { caption: caption.trim() } : {}),
  };
}
