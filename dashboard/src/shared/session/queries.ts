import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { isProblem } from "../api/problem";
import { tellTabs } from "./otherTabs";
import { ended, enter, GATEWAY, leave, queryClient, reported, SESSION, type Session, type SessionState } from "./state";

const PING_MS = 3_000; // a gateway that does not answer cannot report that it is back

export const sessionQuery = queryOptions({
  queryKey: SESSION,
  queryFn: async (): Promise<SessionState> => {
    try {
      return reported(queryClient, await ask(api.GET("/api/v1/session")));
    } catch (error) {
      if (isProblem(error, "session_ended")) return ended(queryClient.getQueryData<SessionState>(SESSION));
      throw error;
    }
  },
  staleTime: 60_000,
});

export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data || data.status === "out") throw new Error("This part of the page needs a session.");
  return data.session;
}

/** Whether the person does daily work: owners and agents change conversations, contacts and orders. */
export function useMayWork(): boolean {
  return useSession().user.role !== "reader";
}

/** Whether the person may change things of a channel: endpoints, keys, templates. */
export function useMayManage(): boolean {
  return useSession().scopes.includes("manage");
}

export type Credentials = { email: string; password: string; code?: string };

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Credentials) => ask(api.POST("/api/v1/session", { body })),
    onSuccess: (session) => {
      enter(client, session);
      tellTabs("in");
    },
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (everywhere: boolean) =>
      ask(api.DELETE("/api/v1/session", { params: { query: { everywhere: everywhere ? "true" : "false" } } })),
    onSuccess: () => {
      leave(client);
      tellTabs("out");
    },
    onError: (error) => isProblem(error, "session_ended") && leave(client),
  });
}

/** Whether the gateway and its database answer. While they do not, they are asked again until they do. */
export function useGatewayAnswers(): boolean {
  const client = useQueryClient();
  const { data } = useQuery({
    queryKey: GATEWAY,
    queryFn: async () => {
      if (!(await isReady())) return false;
      if (client.getQueryData(GATEWAY) === false) {
        void client.invalidateQueries({ predicate: (query) => query.queryKey[0] !== GATEWAY[0] });
      }
      return true;
    },
    initialData: true,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: (query) => (query.state.data === false ? PING_MS : false),
  });
  return data;
}

/** Whether the gateway and its database answer at this moment. */
export async function isReady(): Promise<boolean> {
  try {
    const { data } = await (await fetch("/readyz")).json();
    return data.database === true;
  } catch {
    return false;
  }
}
