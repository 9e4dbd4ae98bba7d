import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { api, askNothing } from "../api/client";
import { gatewayNow } from "../gatewayTime";
import { useNow } from "../useNow";
import { useLiveNotices } from "./live";

export type Other = { id: string; name: string; state: "viewing" | "typing"; until: number };
type State = Other["state"] | "gone";

const PRESENCE = ["presence"];
const REPEAT_MS = 60_000; // the gateway forgets after 90 seconds; each goes to all open pages of the account
const TYPING_MS = 4_000; // and typing after 10
const PAUSE_MS = 6_000; // without a key, after which the person only looks

type Known = Record<string, Other & { conversation: string }>;

/** Keeps who is where. One component of the app uses it. */
export function usePresenceNotices(): void {
  const client = useQueryClient();
  useLiveNotices(({ name, data }) => {
    if (name === "presence")
      client.setQueryData<Known>(PRESENCE, (known) => withNotice(known ?? {}, data, gatewayNow()));
  });
}

/** Who else is where after a notice. Each person is in one place. */
export function withNotice(known: Known, data: Record<string, unknown>, now: number): Known {
  const user = data.user as { id: string; name: string };
  const { [user.id]: _, ...others } = known;
  const state = data.state as State;
  if (state === "gone") return others;
  const until = now + (data.expires_in as number) * 1000;
  return { ...others, [user.id]: { ...user, state, until, conversation: (data.conversation as { id: string }).id } };
}

/** Who else is looking at a conversation, or typing in it. */
export function useOthers(conversation: string): Other[] {
  const now = useNow();
  const { data } = useQuery<Known>({ queryKey: PRESENCE, queryFn: () => ({}), enabled: false, initialData: {} });
  return Object.values(data).filter((one) => one.conversation === conversation && one.until > now);
}

/** Tells the others that this conversation is open here. Returns a function to call when something is typed. */
export function useAnnouncedPresence(channel: string, conversation: string): () => void {
  const typedAt = useRef(0);
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined);
  const say = useCallback(
    (state: State) =>
      // It is sent although the page is being closed.
      void askNothing(
        api.PUT("/api/v1/account/presence", { body: { channel, conversation, state }, keepalive: true }),
      ).catch(() => {}),
    [channel, conversation],
  );
  useEffect(() => {
    const look = () => !document.hidden && Date.now() - typedAt.current > TYPING_MS && say("viewing");
    const leave = () => say("gone");
    look();
    const timer = setInterval(look, REPEAT_MS);
    addEventListener("pagehide", leave);
    return () => {
      clearInterval(timer);
      clearTimeout(pause.current);
      removeEventListener("pagehide", leave);
      leave();
    };
  }, [say]);
  return useCallback(() => {
    clearTimeout(pause.current);
    pause.current = setTimeout(() => say("viewing"), PAUSE_MS);
    if (Date.now() - typedAt.current < TYPING_MS) return;
    typedAt.current = Date.now();
    say("typing");
  }, [say]);
}
