import { Button, Group, Text } from "@mantine/core";
import { IconHandStop } from "@tabler/icons-react";
import { perform } from "../../shared/mutations";
import { useMayWork } from "../../shared/session/queries";
import { showDone, showFailure } from "../../shared/ui/notices";
import classes from "./HandOverBanner.module.css";
import { useGiveBack, useHandOvers } from "./handOverQueries";

/** Says that an assistant has handed a conversation over to people, and why. It writes no more until it gets it back. */
export function HandOverBanner({ conversation }: { conversation: string }) {
  const { data } = useHandOvers(conversation);
  const mayWork = useMayWork();
  const giveBack = useGiveBack(conversation);
  const list = data?.handed_over ?? [];
  if (list.length === 0) return null;
  const submit = () =>
    perform(giveBack, undefined, {
      onSuccess: () => showDone("The assistant may write here again."),
      onError: showFailure,
    });
  return (
    <Group className={classes.banner} gap="xs" justify="space-between" role="status">
      <Group gap="xs" wrap="nowrap" flex={1} miw={200} align="flex-start">
        <IconHandStop size={18} aria-hidden style={{ flexShrink: 0 }} />
        <div className={classes.text}>
          {list.map(({ key, reason, at }) => (
            <Text key={`${key.id} ${at}`} size="sm">
              Handed over by <strong>{key.name ?? "a deleted key"}</strong>: {reason}
            </Text>
          ))}
        </div>
      </Group>
      {mayWork && (
        <Button size="xs" variant="default" loading={giveBack.isPending} onClick={submit}>
          Give back to the assistant
        </Button>
      )}
    </Group>
  );
}
