import { Button, type ButtonVariant } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { perform } from "../../shared/mutations";
import { showDone, showFailure } from "../../shared/ui/notices";
import { useRetry } from "./queries";
import { retryWords } from "./words";

type Props = { deliveries: string[]; variant?: ButtonVariant; onDone?: () => void };

/** Tries deliveries again now, and says which cannot be. */
export function RetryButton({ deliveries, variant, onDone }: Props) {
  const retry = useRetry();
  const start = () =>
    perform(retry, deliveries, {
      onSuccess: (answer) => {
        if (answer.accepted) showDone(retryWords(answer));
        else showFailure(new Error(retryWords(answer)));
        onDone?.();
      },
      onError: showFailure,
    });
  return (
    <Button
      variant={variant}
      size="sm"
      loading={retry.isPending}
      leftSection={<IconRefresh size={16} aria-hidden />}
      onClick={start}
    >
      Try again
    </Button>
  );
}
