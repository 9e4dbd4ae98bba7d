import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { onRing } from "../shared/store";
import type { Chat, Message } from "../shared/types";
import { clearMissed, noteMissed } from "./logic/missed";
import { playChime } from "./sound";

const LASTS = 4500; // ms that a banner stays

export interface Ring {
  chat: Chat;
  message: Message;
}

/** Return the message that arrives on a phone right now; count it if its chat is not looked at. */
export function useRing(person: string, openNumber: string | null): Ring | null {
  const ring = useSignal<Ring | null>(null);
  const open = useRef(openNumber);
  open.current = openNumber;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = onRing((chat, message) => {
      if (chat.person !== person) return;
      if (document.hidden || open.current !== chat.number.id) noteMissed(chat);
      playChime();
      clearTimeout(timer);
      ring.value = { chat, message };
      timer = setTimeout(() => {
        ring.value = null;
      }, LASTS);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [person, ring]);
  useEffect(() => {
    const look = () => {
      if (!document.hidden && openNumber) clearMissed(person, openNumber);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [person, openNumber]);
  return ring.value;
}
