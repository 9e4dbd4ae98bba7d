import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const QUERY = "(max-width: 640px)"; // as in styles/frame.css

/** Return whether the screen is so small that it is the phone. */
export function useNarrow(): boolean {
  const narrow = useSignal(matchMedia(QUERY).matches);
  useEffect(() => {
    const query = matchMedia(QUERY);
    const onChange = () => {
      narrow.value = query.matches;
    };
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, [narrow]);
  return narrow.value;
}
