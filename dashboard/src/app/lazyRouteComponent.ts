import { lazyRouteComponent as lazy } from "@tanstack/react-router";
import { useEffect } from "react";
import { isReady } from "../shared/session/queries";
import { GATEWAY, queryClient } from "../shared/session/state";

const AGAIN_MS = 1_000;

/** A page that is loaded when it is opened. While the gateway is gone it waits, instead of reloading into an error. */
export const lazyRouteComponent: typeof lazy = (load, name) => lazy(() => patiently(load, name ?? "default"), name);

async function patiently<Module>(load: () => Promise<Module>, name: PropertyKey): Promise<Module> {
  let gone = false;
  try {
    return await load();
  } catch {
    while (!(await isReady())) {
      gone = true;
      queryClient.setQueryData(GATEWAY, false);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
  try {
    return await load();
  } catch (error) {
    if (!gone) throw error; // another version of the dashboard is there by now: the router reloads it
    return { [name]: Reload } as Module;
  }
}

/** The browser remembers that the file could not be loaded. Nothing is reloaded before the page is really opened. */
function Reload(): null {
  useEffect(() => window.location.reload(), []);
  return null;
}
