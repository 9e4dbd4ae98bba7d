import { useQuery } from "@tanstack/react-query";
import { api, ask } from "./api/client";

/** The account: its plan with what is used of it, its trial and its add-ons. */
export function useAccount() {
  return useQuery({ queryKey: ["account", "plan"], queryFn: () => ask(api.GET("/api/v1/account")) });
}
