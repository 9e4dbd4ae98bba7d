import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { loadAll, showAnswer } from "./lists";

test("a choice offers the rows of all pages", async () => {
  const pages = new Map<string | undefined, { items: number[]; next: string | null }>([
    [undefined, { items: [1, 2], next: "p2" }],
    ["p2", { items: [3], next: null }],
  ]);
  const load = async (cursor: string | undefined) => pages.get(cursor) ?? { items: [], next: null };
  expect(await loadAll(load)).toEqual([1, 2, 3]);
});

const SOON = { timeout: 30_000 };

test("the answer to a change is not replaced by what was asked before it", async () => {
  const client = new QueryClient();
  const answers: ((state: string) => void)[] = [];
  const queryFn = () => new Promise<string>((resolve) => answers.push(resolve));
  const shown: unknown[] = [];
  const observer = new QueryObserver(client, { queryKey: ["account", "mcp"], queryFn });
  const stop = observer.subscribe(({ data }) => shown.push(data));
  answers[0]?.("works");
  await expect.poll(() => shown.at(-1), SOON).toBe("works");
  void observer.refetch(); // as after an event
  await expect.poll(() => answers.length, SOON).toBe(2);
  showAnswer(client, ["account", "mcp"], "stopped");
  answers[1]?.("works");
  await expect.poll(() => answers.length, SOON).toBe(3); // what the event was about is not missed
  expect(shown.at(-1)).toBe("stopped");
  answers[2]?.("stopped, by Ana");
  await expect.poll(() => shown.at(-1), SOON).toBe("stopped, by Ana");
  stop();
});
