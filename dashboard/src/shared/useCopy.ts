import { useEffect, useState } from "react";
import { copyText } from "./copy";

const COPIED_MS = 1_000;

/** Copies a text when `copy` is called. `copied`: whether that was a moment ago. */
export function useCopy(text: string): { copied: boolean; copy: () => void } {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  return { copied, copy: () => void copyText(text).then(setCopied) };
}
