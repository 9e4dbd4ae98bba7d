import { useEffect, useRef, useState } from "preact/hooks";
import { cameraProblem, readCode } from "./decode";

const EVERY = 250; // ms

/** Shows the camera until it sees a QR code. */
export function Camera({ onCode, onEnd }: { onCode: (text: string) => void; onEnd: () => void }) {
  const video = useRef<HTMLVideoElement>(null);
  const [problem, setProblem] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the camera is opened once
  useEffect(() => {
    let open = true;
    let stream: MediaStream | null = null;
    const watch = async () => {
      if (!navigator.mediaDevices) {
        throw new Error(
          "Browsers give the camera only to pages on localhost or with https. Choose a picture of the code instead.",
        );
      }
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
      const element = video.current;
      if (!open || !element) return;
      element.srcObject = stream;
      await element.play();
      while (open) {
        const frame = await createImageBitmap(element);
        const text = await readCode(frame);
        frame.close();
        if (text !== null && open) return onCode(text);
        await new Promise((resolve) => setTimeout(resolve, EVERY));
      }
    };
    watch()
      .catch((error) => open && setProblem(cameraProblem(error)))
      .finally(stop);
    function stop() {
      for (const track of stream?.getTracks() ?? []) track.stop();
    }
    return () => {
      open = false;
      stop();
    };
  }, []);
  return (
    <div class="stack">
      {problem ? (
        <p class="problem" role="alert">
          {problem}
        </p>
      ) : (
        <video ref={video} class="camera" muted playsInline aria-label="Camera: point it at the QR code" />
      )}
      <div class="row">
        <button type="button" class="button" onClick={onEnd}>
          Close the camera
        </button>
      </div>
    </div>
  );
}
