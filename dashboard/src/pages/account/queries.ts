import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ask, askNothing, askPage, type Schemas } from "../../shared/api/client";
import { usePages } from "../../shared/lists";
import { PEOPLE, type Person } from "../../shared/people";
import { useSession } from "../../shared/session/queries";
import { SESSION } from "../../shared/session/state";
import { type LogSearch, toQuery } from "./search";

export type User = Person;
export type UserLink = Schemas["UserLink"];
export type LogEntry = Schemas["AccountLogEntry"];
export type Invitation = Schemas["Invitation"];

const PAGE = 50;
const LOG = ["account", "log"];

/** A change of a person. The lists, and the own session if it is about oneself, are asked again afterwards. */
function useUserMutation<Input, Output>(run: (input: Input) => Promise<Output>, user?: User) {
  const client = useQueryClient();
  const { user: me } = useSession();
  const mutation: UseMutationResult<Output, Error, Input> = useMutation({
    mutationFn: run,
    onSuccess: async () => {
      await Promise.all([PEOPLE, LOG].map((queryKey) => client.invalidateQueries({ queryKey })));
      if (user?.id === me.id) await client.invalidateQueries({ queryKey: SESSION });
    },
  });
  return mutation;
}

export function useInvite() {
  return useUserMutation((body: Invitation) => ask(api.POST("/api/v1/account/users", { body })));
}

export function useChangeRole(user: User) {
  return useUserMutation((role: string) => {
    const params = { path: { user_id: user.id } };
    return ask(api.PATCH("/api/v1/account/users/{user_id}", { params, body: { role } }));
  }, user);
}

export function useRemoveUser(user: User) {
  return useUserMutation((_: undefined) => {
    const params = { path: { user_id: user.id } };
    return askNothing(api.DELETE("/api/v1/account/users/{user_id}", { params }));
  }, user);
}

/** A link to set a password: an invitation again, or a new password. */
export function useCreateLink(user: User) {
  return useUserMutation((_: undefined) => {
    const params = { path: { user_id: user.id } };
    return ask(api.POST("/api/v1/account/users/{user_id}/reset-link", { params }));
  });
}

/** Who did what, the newest first. */
export function useLog(search: LogSearch) {
  const query = toQuery(search);
  const load = (cursor: string | undefined) =>
    askPage(api.GET("/api/v1/account/log", { params: { query: { ...query, limit: PAGE, cursor } } }));
  return usePages([...LOG, query], load);
}
