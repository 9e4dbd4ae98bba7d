import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ask, askNothing } from "../../shared/api/client";
import { tellTabs } from "../../shared/session/otherTabs";
import { SESSION } from "../../shared/session/state";

/** After each of these the session is another: who is signed in is asked again. */
function useSessionChange<Body, Data>(change: (body: Body) => Promise<Data>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => {
      tellTabs("in");
      return client.invalidateQueries({ queryKey: SESSION });
    },
  });
}

export const useChangePassword = () =>
  useSessionChange((body: { current_password: string; new_password: string }) =>
    ask(api.PUT("/api/v1/session/password", { body })),
  );

export const useBeginTotp = () =>
  useMutation({ mutationFn: (password: string) => ask(api.POST("/api/v1/session/totp", { body: { password } })) });

export const useConfirmTotp = () =>
  useSessionChange((code: string) => ask(api.POST("/api/v1/session/totp/confirm", { body: { code } })));

export const useNewRecoveryCodes = () =>
  useMutation({
    mutationFn: (password: string) => ask(api.POST("/api/v1/session/totp/recovery-codes", { body: { password } })),
  });

export const useTurnOffTotp = () =>
  useSessionChange((password: string) => askNothing(api.DELETE("/api/v1/session/totp", { body: { password } })));
