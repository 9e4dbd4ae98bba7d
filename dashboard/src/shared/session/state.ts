import { MutationCache, notifyManager, type Query, QueryCache, QueryClient } from "@tanstack/react-query";
import type { Readable } from "openapi-typescript-helpers";
import { ApiProblem, GatewayUnreachable, isProblem } from "../api/problem";
import type { components } from "../api/schema";
import { noteGatewayTime } from "../gatewayTime";

export type Session = Readable<components["schemas"]["Session"]>;

/** `expired`: the page stays as it is, and the person signs in on top of it. */
export type SessionState =
  | { status: "in"; session: Session }
  | { status: "expired"; session: Session }
  | { status: "out" };

export const SESSION = ["session"];
export const GATEWAY = ["gateway"];

const RETRIES = 2;

// Before the next click: a button is disabled as soon as its change has begun.
notifyManager.setScheduler(queueMicrotask);

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: note }),
  mutationCache: new MutationCache({ onError: note }),
  defaultOptions: {
    queries: {
      networkMode: "always", // the gateway may be on this machine, without an internet connection
      staleTime: 5_000,
      retry: (count, error) => count < RETRIES && error instanceof ApiProblem && error.status >= 500,
    },
    mutations: { networkMode: "always" },
  },
});

/** Keeps what an error says about the session and the gateway, whichever request met it. */
function note(error: Error): void {
  if (isProblem(error, "session_ended")) expire(queryClient);
  if (isProblem(error, "csrf_failed")) void queryClient.invalidateQueries({ queryKey: SESSION });
  if (error instanceof GatewayUnreachable || isProblem(error, "database_unavailable"))
    queryClient.setQueryData(GATEWAY, false);
}

/** The session of the person who is signed in, or was until it expired. */
export function readSession(client: QueryClient): Session | null {
  const state = client.getQueryData<SessionState>(SESSION);
  return state && state.status !== "out" ? state.session : null;
}

export function expire(client: QueryClient): void {
  client.setQueryData<SessionState>(SESSION, (state) => ended(state));
}

/** What a session becomes when the gateway says that it is over. */
export function ended(state: SessionState | undefined): SessionState {
  return state && state.status !== "out" ? { status: "expired", session: state.session } : { status: "out" };
}

/** Begins a session. What was asked before is asked again; another person starts with nothing. */
export function enter(client: QueryClient, session: Session): void {
  client.setQueryData(SESSION, reported(client, session));
  void client.invalidateQueries({ predicate: isData });
}

/**
 * The state for the session that the gateway reports. By then, another tab may have signed in another person, or the
 * same one again: what was asked in between was refused, and is asked again.
 */
export function reported(client: QueryClient, session: Session): SessionState {
  noteGatewayTime(session.now);
  const before = client.getQueryData<SessionState>(SESSION);
  if (before && before.status !== "out" && before.session.user.id !== session.user.id) forget(client);
  else if (before?.status === "expired") void client.invalidateQueries({ predicate: isData });
  return { status: "in", session };
}

/** Ends a session on purpose: nothing of it stays in memory. */
export function leave(client: QueryClient): void {
  client.setQueryData<SessionState>(SESSION, { status: "out" });
  forget(client);
}

function forget(client: QueryClient): void {
  client.removeQueries({ predicate: isData });
}

/** Whether a query is about data of the account, and not about the session or the gateway itself. */
function isData(query: Query): boolean {
  return query.queryKey[0] !== SESSION[0] && query.queryKey[0] !== GATEWAY[0];
}
