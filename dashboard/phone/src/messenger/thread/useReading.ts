import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { connection } from "../../shared/feed";
import type { OpenChat } from "../phone";

/** Tell the sandbox that the person reads: while the chat is open, the page is visible and live, and something is unread. */
export function useReading(open: OpenChat, unread: number): void {
  const visible = useSignal(!document.hidden);
  useEffect(() => {
    const onChange = () => {
      visible.value = !document.hidden;
    };
    document.addEventListener("visibilitychange", onChange);
    return () => document.removeEventListener("visibilitychange", onChange);
  }, [visible]);
  const toRead = visible.value && connection.value === "open" ? unread : 0;
  useEffect(() => {
    if (toRead > 0) open.change("read");
  }, [open, toRead]);
}
