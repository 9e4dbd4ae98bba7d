import { MutationObserver, QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { perform } from "./mutations";

const SOURCES = import.meta.glob<string>("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

function changing(answer: Promise<string>) {
  const observer = new MutationObserver(new QueryClient(), { mutationFn: () => answer });
  const leave = observer.subscribe(() => {});
  return { change: { mutateAsync: () => observer.mutate() }, leave };
}

test("what follows a change is done although its component is gone", async () => {
  const { change, leave } = changing(Promise.resolve("made"));
  const [onSuccess, onSettled] = [vi.fn(), vi.fn()];
  perform(change, undefined, { onSuccess, onSettled });
  leave();
  await vi.waitFor(() => expect(onSettled).toHaveBeenCalledOnce(), 60_000);
  expect(onSuccess).toHaveBeenCalledWith("made");
});

test("a failure is reported although its component is gone", async () => {
  const { change, leave } = changing(Promise.reject(new Error("no")));
  const [onSuccess, onError] = [vi.fn(), vi.fn()];
  perform(change, undefined, { onSuccess, onError });
  leave();
  await vi.waitFor(() => expect(onError).toHaveBeenCalledOnce(), 60_000);
  expect(onSuccess).not.toHaveBeenCalled();
});

test("no component gives callbacks to `mutate`, which would not be called when it is gone", () => {
  const callbacks = /\.mutate\((?:[^;]*?)\bon(?:Success|Error|Settled)\b/;
  const wrong = Object.entries(SOURCES).filter(([name, text]) => !name.endsWith(".test.ts") && callbacks.test(text));
  expect(wrong.map(([name]) => name)).toEqual([]);
});
