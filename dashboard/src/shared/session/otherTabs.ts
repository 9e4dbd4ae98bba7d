import type { QueryClient } from "@tanstack/react-query";
import { leave, SESSION } from "./state";

/** `in`: there is another session, or another CSRF token of it; `out`: a person has signed out on purpose. */
type Change = "in" | "out";

let air: BroadcastChannel | undefined;

/** Follows what happens to the session in other tabs of the browser, which have the same cookie. */
export function heedTabs(client: QueryClient): void {
  if (typeof BroadcastChannel === "undefined") return;
  air = new BroadcastChannel("gatepost.session");
  air.onmessage = ({ data: change }: MessageEvent<Change>) => {
    if (change === "out") leave(client);
    else void client.invalidateQueries({ queryKey: SESSION });
  };
}

/** Tells the other tabs what this one has done to the session. */
export function tellTabs(change: Change): void {
  air?.postMessage(change);
}
