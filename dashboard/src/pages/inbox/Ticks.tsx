import { IconAlertCircle, IconCheck, IconChecks, IconClock } from "@tabler/icons-react";
import type { Message } from "./queries";
import classes from "./Thread.module.css";
import { tickLook } from "./words";

/** How far an outgoing message got: a clock, one tick, two ticks, two coloured ticks, or a warning. */
export function Ticks({ message }: { message: Pick<Message, "status"> }) {
  const look = tickLook(message.status);
  const Picture = look.failed ? IconAlertCircle : [IconClock, IconCheck, IconChecks][look.ticks];
  if (!Picture) return null;
  return (
    <span
      className={classes.ticks}
      data-read={look.read || undefined}
      data-failed={look.failed || undefined}
      role="img"
      aria-label={look.label}
      title={look.label}
    >
      <Picture size={15} aria-hidden />
    </span>
  );
}
