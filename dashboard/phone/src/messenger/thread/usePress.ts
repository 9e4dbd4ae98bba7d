import { useRef } from "preact/hooks";

const LONG = 450; // ms
const SLACK = 10; // px that a finger may move meanwhile
const CONTROLS = "button, a, input, video, audio, summary, label";

/** Return handlers that call `open` at a long press of a finger, and at a right click. */
export function usePress(open: () => void) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const start = useRef({ x: 0, y: 0 });
  const cancel = () => clearTimeout(timer.current);
  return {
    onPointerDown(event: PointerEvent) {
      if (event.pointerType === "mouse" || isControl(event.target)) return;
      start.current = { x: event.clientX, y: event.clientY };
      cancel();
      timer.current = setTimeout(() => {
        ignoreClick(start.current);
        open();
      }, LONG);
    },
    onPointerMove(event: PointerEvent) {
      const moved = Math.hypot(event.clientX - start.current.x, event.clientY - start.current.y);
      if (moved > SLACK) cancel();
    },
    onPointerUp: cancel,
    onPointerCancel: cancel,
    onContextMenu(event: MouseEvent) {
      if (isLink(event.target)) return; // the browser's own menu can open or copy it
      event.preventDefault();
      cancel();
      open();
    },
  };
}

/** Ignore the click of the finger that is lifted: it would be on what was opened, and close it. */
function ignoreClick(start: { x: number; y: number }): void {
  const stop = (event: MouseEvent) => {
    if (Math.hypot(event.clientX - start.x, event.clientY - start.y) > 2 * SLACK) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const end = () => setTimeout(() => document.removeEventListener("click", stop, true), 300);
  document.addEventListener("click", stop, true);
  document.addEventListener("pointerup", end, { once: true });
  document.addEventListener("pointercancel", end, { once: true });
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(CONTROLS) !== null;
}

function isLink(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a[href]") !== null;
}
