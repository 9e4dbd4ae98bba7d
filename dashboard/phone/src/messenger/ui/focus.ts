/** Focus in sheets and menus. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const FOCUSABLE =
  "a[href], button:not(:disabled), input:not(:disabled), textarea:not(:disabled), select, summary, video, audio, [tabindex]";

/** Return the elements inside that Tab reaches. */
export function focusables(root: HTMLElement): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
    (element) => element.tabIndex >= 0 && element.getClientRects().length > 0 && element.checkVisibility(), // not in closed details
  );
}

/** Focus an element that opened, keep Tab inside of it, and close it with Escape. */
export function useFocusTrap<E extends HTMLElement>(onClose: () => void): RefObject<E | null> {
  const ref = useRef<E>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    // before it is seen: a key that is pressed at once must reach it
    const root = ref.current;
    if (!root) return;
    const first = root.querySelector<HTMLElement>("[data-autofocus]") ?? focusables(root)[0] ?? root;
    first.focus();
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        close.current();
      } else if (event.key === "Tab") wrap(root, event);
    };
    root.addEventListener("keydown", onKey);
    return () => root.removeEventListener("keydown", onKey);
  }, []);
  return ref;
}

function wrap(root: HTMLElement, event: KeyboardEvent): void {
  const inside = focusables(root);
  const [first, last] = [inside[0], inside.at(-1)];
  const at = document.activeElement;
  if (!event.shiftKey && at === last) first?.focus();
  else if (event.shiftKey && (at === first || at === root)) last?.focus();
  else return;
  event.preventDefault();
}
