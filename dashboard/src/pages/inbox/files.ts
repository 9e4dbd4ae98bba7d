import type { FileLook } from "./content";

const MB = 1_048_576;
const LIMITS: Record<Exclude<FileLook, "sticker">, { types: RegExp; most: number }> = {
  image: { types: /^image\/(jpeg|png)$/, most: 5 * MB },
  video: { types: /^video\/(mp4|3gpp)$/, most: 16 * MB },
  audio: { types: /^audio\/(aac|amr|mpeg|mp4|ogg)$/, most: 16 * MB },
  document: { types: /./, most: 100 * MB },
};

/** As what a file is sent. What the network does not show as a picture, video or sound is a document. */
export function lookOfFile(mime: string): Exclude<FileLook, "sticker"> {
  if (LIMITS.image.types.test(mime)) return "image";
  if (LIMITS.video.types.test(mime)) return "video";
  return LIMITS.audio.types.test(mime) ? "audio" : "document";
}

/** What is wrong with a file, before it is uploaded; nothing if it may be tried. */
export function fileProblem({ name, size, type }: Pick<File, "name" | "size" | "type">): string | null {
  if (size === 0) return `“${name}” is empty.`;
  const look = lookOfFile(type);
  const { most } = LIMITS[look];
  if (size <= most) return null;
  return `“${name}” is too large: the network takes a file of this type up to ${most / MB} MB.`;
}

/** The files that are pasted. Programs such as Word and Excel add a picture of their text, which nobody wants to send. */
export function filesOf(data: Pick<DataTransfer, "files" | "types">): File[] {
  const isText = data.types.includes("text/plain") && data.types.includes("text/html");
  return isText ? [] : [...data.files];
}
