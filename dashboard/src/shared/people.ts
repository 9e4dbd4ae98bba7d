import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, askPage, type Schemas } from "./api/client";
import { useSession } from "./session/queries";

export type Person = Schemas["AccountUser"];

export const PEOPLE = ["account", "users"];

/** The people of the account, the oldest first. */
export function usePeople() {
  return useQuery({
    queryKey: PEOPLE,
    queryFn: async () => (await askPage(api.GET("/api/v1/account/users"))).items,
    staleTime: 60_000,
  });
}

/** What a person of the account is called. */
export function nameOf({ name, email }: Pick<Person, "name" | "email">): string {
  return name || email;
}

export type Names = (assignee: string) => string;

/** Names the assignee of a conversation: the viewer, a colleague, one who has left, or the text that was set. */
export function namesOf(people: Person[] | undefined, viewer: string): Names {
  const known = new Map(people?.map((person) => [person.id, nameOf(person)]));
  return (assignee) => {
    if (assignee === viewer) return "You";
    if (!assignee.startsWith("usr_")) return assignee;
    return known.get(assignee) ?? (people ? "A former colleague" : "A colleague");
  };
}

export function useNames(): Names {
  const { user } = useSession();
  const { data } = usePeople();
  return useMemo(() => namesOf(data, user.id), [data, user.id]);
}
