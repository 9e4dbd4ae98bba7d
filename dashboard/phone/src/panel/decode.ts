/** Reading QR codes from pictures and from the camera. */

interface Detector {
  detect(source: ImageBitmapSource): Promise<{ rawValue: string }[]>;
}

const LARGEST = 1600; // pixels of a side: enough for a code, and quick
const HEAVIEST = 20_000_000; // bytes of a file

/** Returns the text of the QR code in a picture, or null. The browser's own detector is used where it exists. */
export async function readCode(source: ImageBitmap): Promise<string | null> {
  const own = await detector();
  if (own) {
    const [found] = await own.detect(source).catch(() => []);
    if (found) return found.rawValue;
  }
  const { default: decode } = await import("qr/decode.js");
  const scale = Math.min(1, LARGEST / Math.max(source.width, source.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(source.width * scale));
  canvas.height = Math.max(1, Math.round(source.height * scale));
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) return null;
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  try {
    return decode(context.getImageData(0, 0, canvas.width, canvas.height));
  } catch {
    return null; // there is no code in it
  }
}

/** Returns what an error of the camera means, and what to do. */
export function cameraProblem(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  const instead = "Choose a picture of the code or paste it instead.";
  if (name === "NotAllowedError" || name === "SecurityError")
    return `The browser was not allowed to use the camera. ${instead}`;
  if (name === "NotFoundError") return `There is no camera. ${instead}`;
  if (name === "NotReadableError") return `Another program uses the camera. Close it, or: ${instead}`;
  return error instanceof Error && !name ? error.message : `The camera cannot be used. ${instead}`;
}

/** Returns the text of the QR code in a picture file; an error says what is wrong. */
export async function readPicture(file: Blob): Promise<string> {
  if (file.size > HEAVIEST) throw new Error("This picture has more than 20 MB. Take a smaller one.");
  const picture = await createImageBitmap(file).catch(() => {
    throw new Error("This file is not a picture. Choose a PNG or JPEG of the code.");
  });
  const text = await readCode(picture);
  picture.close();
  if (text === null) throw new Error("There is no QR code in this picture, or it is too small or blurred.");
  return text;
}

async function detector(): Promise<Detector | null> {
  const known = (globalThis as { BarcodeDetector?: new (options: { formats: string[] }) => Detector }).BarcodeDetector;
  try {
    return known ? new known({ formats: ["qr_code"] }) : null;
  } catch {
    return null;
  }
}
