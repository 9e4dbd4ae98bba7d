import { useEffect, useState } from "react";
import { gatewayNow } from "../../shared/gatewayTime";

const DAY_TICK_MS = 30_000;
const dayNow = () => new Date(gatewayNow()).toDateString();

/** The day of the viewer. What shows a time of today differs from it tomorrow. */
export function useToday(): string {
  const [today, setToday] = useState(dayNow);
  useEffect(() => {
    const timer = setInterval(() => setToday(dayNow()), DAY_TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return today;
}

/** The time, renewed now and then. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(gatewayNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(gatewayNow()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
