import { createContext, useContext, useEffect, useMemo } from "react";

/** One time that a dialog or panel is open. */
export type Opening = { open: boolean };

export const OpeningContext = createContext<Opening>({ open: true });

/** One time that something is shown, such as a dialog that is `opened`, or a panel with this id. */
export function useOpening(shown: boolean | string | undefined): Opening {
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown next is another opening
  const opening = useMemo<Opening>(() => ({ open: false }), [shown]);
  useEffect(() => {
    opening.open = Boolean(shown);
    return () => {
      opening.open = false;
    };
  }, [opening, shown]);
  return opening;
}

/** Closes the dialog or panel that this is in, unless it was closed meanwhile: it may be open for something else. */
export function useClose<Args extends unknown[]>(onClose: (...args: Args) => void): (...args: Args) => void {
  const opening = useContext(OpeningContext);
  return (...args) => {
    if (opening.open) onClose(...args);
  };
}
