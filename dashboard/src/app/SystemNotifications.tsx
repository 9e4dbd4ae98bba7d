import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useChannels } from "../shared/channels";
import type { GatewayEvent } from "../shared/live/follow";
import { useLiveEvents } from "../shared/live/live";
import { isOwnChange } from "../shared/live/ownChanges";
import { showNotification } from "../shared/ui/notices";
import { grouped, notificationOf, type SystemNotification } from "./systemNotifications";

const GATHER_MS = 1_000;

/** Shows notifications for operators on every page: a decision about a template, a paused endpoint, a new quality or tier. */
export function SystemNotifications() {
  const navigate = useNavigate();
  const { data: channels } = useChannels();
  const waiting = useRef<SystemNotification[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const show = () => {
    timer.current = undefined;
    for (const { id, text, color, place } of grouped(waiting.current.splice(0))) {
      showNotification(id, text, color, () => void navigate(place));
    }
  };
  const latest = useRef(show);
  latest.current = show;
  useLiveEvents((event: GatewayEvent) => {
    const notification = isOwnChange(event) ? null : notificationOf(event);
    if (!notification) return;
    const name = channels && channels.length > 1 ? channels.find(({ id }) => id === event.channel.id)?.name : undefined;
    waiting.current.push(name ? { ...notification, text: `${name}: ${notification.text}` } : notification);
    timer.current ??= setTimeout(() => latest.current(), GATHER_MS);
  });
  return null;
}
