import { useQueryClient } from "@tanstack/react-query";
import { useLiveEvents } from "../../shared/live/live";
import { applyEvent } from "./events";

const KEPT = ["conversations", "conversation", "thread", "counts"];

/** Applies events to what the inbox has loaded, while it is open. */
export function useInboxUpdates(): void {
  const client = useQueryClient();
  useLiveEvents((event) => applyEvent(client, event.channel.id, event), KEPT);
}
