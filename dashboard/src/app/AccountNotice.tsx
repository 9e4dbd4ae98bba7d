import { Alert } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { gatewayNow } from "../shared/gatewayTime";
import { useSession } from "../shared/session/queries";
import { inFull } from "../shared/times";

/** Says what limits the account, if anything. */
export function AccountNotice() {
  const { account } = useSession();
  const text = noticeOf(account, gatewayNow());
  if (!text) return null;
  return (
    <Alert mb="lg" color={account.suspended ? "red" : "yellow"} icon={<IconInfoCircle size={18} aria-hidden />}>
      {text}
    </Alert>
  );
}

type Account = { suspended: boolean; trial_ends_at: string | null; api_access: boolean };

const SOON = 3 * 86_400_000;
const TRIAL_OVER =
  "The trial is over. Everything can be read, but nothing new can be sent without the add-on API Access.";
const SUSPENDED =
  "This account is suspended. Until the operator of the gateway ends that, nothing new can be sent; messages that were accepted before still are.";

export function noticeOf(account: Account, now: number): string | null {
  if (account.suspended) return SUSPENDED;
  if (account.api_access || !account.trial_ends_at) return null;
  const left = new Date(account.trial_ends_at).getTime() - now;
  if (left < 0) return TRIAL_OVER;
  return left < SOON ? `The trial ends on ${inFull(account.trial_ends_at)}.` : null;
}
