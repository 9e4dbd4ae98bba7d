import { Button, Group, Paper, Text, Transition } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { showDone, showFailure } from "../../shared/ui/notices";
import { useRetry } from "./queries";
import classes from "./SelectionBar.module.css";

type Props = { selected: ReadonlySet<string>; onDone: () => void };

/** What can be done with the selected deliveries; appears with the first selection. */
export function SelectionBar({ selected, onDone }: Props) {
  const retry = useRetry();
  const count = selected.size;
  const start = () =>
    retry.mutate([...selected], {
      onSuccess: ({ accepted, refused }) => {
        showDone(
          refused ? `${accepted} are tried again now, ${refused} cannot be.` : `${accepted} are tried again now.`,
        );
        onDone();
      },
      onError: showFailure,
    });
  return (
    <Transition mounted={count > 0} transition="slide-up" duration={150}>
      {(style) => (
        <Paper className={classes.bar} shadow="lg" style={style} role="region" aria-label="Selected deliveries">
          <Group justify="space-between" gap="md" wrap="nowrap">
            <Text size="sm" fw={600}>
              {count === 1 ? "1 delivery" : `${count} deliveries`}
            </Text>
            <Group gap="xs" wrap="nowrap">
              <Button variant="subtle" color="gray" size="sm" onClick={onDone}>
                Cancel
              </Button>
              <Button
                size="sm"
                loading={retry.isPending}
                leftSection={<IconRefresh size={16} aria-hidden />}
                onClick={start}
              >
                Try again
              </Button>
            </Group>
          </Group>
        </Paper>
      )}
    </Transition>
  );
}
