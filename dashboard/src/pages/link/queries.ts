import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, askMaybe } from "../../shared/api/client";
import { tellTabs } from "../../shared/session/otherTabs";
import { enter } from "../../shared/session/state";

/** What a one-time link is for. */
export function useLink(token: string) {
  return useQuery({
    queryKey: ["link", token],
    queryFn: () => ask(api.GET("/api/v1/one-time-links/{token}", { params: { path: { token } } })),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Uses the link up: sets the password, and signs in. A person with a code has to sign in with it. */
export function useTakeLink(token: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { password: string; name?: string }) =>
      askMaybe(api.POST("/api/v1/one-time-links/{token}", { params: { path: { token } }, body })),
    onSuccess: (session) => {
      if (!session) return;
      enter(client, session);
      tellTabs("in");
    },
  });
}
