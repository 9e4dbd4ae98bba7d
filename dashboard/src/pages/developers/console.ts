import { useMutation } from "@tanstack/react-query";
import { GatewayUnreachable } from "../../shared/api/problem";
import { useChannelScope } from "../../shared/channels";
import { useSession } from "../../shared/session/queries";
import { expire, queryClient } from "../../shared/session/state";

export type ConsoleRequest = { method: string; path: string; headers: Record<string, string>; body: string | null };
export type ConsoleAnswer = { status: number; milliseconds: number; headers: string; body: string; type: string };

const LONGEST = 200_000; // characters of an answer that are shown

/** Sends a request as it was written, and gives the answer whatever its status. */
export function useConsole() {
  const { id } = useChannelScope();
  const session = useSession();
  return useMutation({
    mutationFn: async ({ method, path, headers, body }: ConsoleRequest): Promise<ConsoleAnswer> => {
      const own: Record<string, string> = { "Gatepost-Channel": id };
      if (method !== "GET") own["Gatepost-CSRF"] = session.csrf_token;
      if (body !== null) own["Content-Type"] = "application/json";
      const began = performance.now();
      const response = await fetch(path, { method, headers: { ...headers, ...own }, body }).catch(() => {
        throw new GatewayUnreachable();
      });
      const answer = await readAnswer(response, performance.now() - began);
      if (answer.status === 401) expire(queryClient);
      return answer;
    },
  });
}

async function readAnswer(response: Response, milliseconds: number): Promise<ConsoleAnswer> {
  const type = response.headers.get("Content-Type") ?? "";
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  return { status: response.status, milliseconds, headers, type, body: await readBody(response, type) };
}

async function readBody(response: Response, type: string): Promise<string> {
  if (!/json|text|csv/.test(type)) return `${(await response.blob()).size.toLocaleString()} bytes of ${type}`;
  const text = await response.text();
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST)}\n… ${(text.length - LONGEST).toLocaleString()} more characters`;
}
