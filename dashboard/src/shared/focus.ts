import { PAGE_TITLE } from "./ui/PageHeader";

const PASSING = '[role="menu"], [role="listbox"]'; // closed by a choice
const MOST = 10;

let places: HTMLElement[] = []; // that had the focus, the newest last

/** Remembers where the focus was. */
export function watchFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && !target.closest(PASSING)) {
      places = [...places.filter((one) => one !== target), target].slice(-MOST);
    }
  });
}

/** What had the focus last, also if it is gone. */
export function lastFocused(): HTMLElement | undefined {
  return places.at(-1);
}

/** If what had the focus is gone, focuses what had it before: else a keyboard would begin at the top of the page. */
export function restoreFocus(): void {
  if (document.activeElement && document.activeElement !== document.body) return;
  places = places.filter((one) => one.isConnected);
  (lastFocused() ?? document.getElementById(PAGE_TITLE))?.focus({ preventScroll: true });
}
