import { Alert } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { useSession } from "../shared/session/queries";
import { inFull } from "../shared/times";

/** Says what limits the account, if anything. */
export function AccountNotice() {
  const { account } = useSession();
  const text = noticeOf(account, Date.now());
  if (!text) return null;
  return (
    <Alert mb="lg" color={account.suspended ? "red" : "yellow"} icon={<IconInfoCircle size={18} aria-hidden />}>
      {text}
    </Alert>
  );
}

type Account = { suspended: boolean; trial_ends_at: string | null; api_access: boolean };

const SOON = 3 * 86_400_000;

export function noticeOf(account: Account, now: number): string | null {
  if (account.suspended) return "This account is suspended. Nothing is sent until the operator of the gateway ends it.";
  if (account.api_access || !account.trial_ends_at) return null;
  const left = new Date(account.trial_ends_at).getTime() - now;
  if (left < 0) return "The trial is over. Everything can be read, but nothing is sent without the add-on API Access.";
  return left < SOON ? `The trial ends on ${inFull(account.trial_ends_at)}.` : null;
}
