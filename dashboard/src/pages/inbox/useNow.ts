import { useEffect, useState } from "react";

const DAY_TICK_MS = 30_000;

/** The day of the viewer. What shows a time of today differs from it tomorrow. */
export function useToday(): string {
  const [today, setToday] = useState(() => new Date().toDateString());
  useEffect(() => {
    const timer = setInterval(() => setToday(new Date().toDateString()), DAY_TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return today;
}

/** The time, renewed now and then. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
