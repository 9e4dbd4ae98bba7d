import { Button, Group, Paper, Text, Transition } from "@mantine/core";
import { RetryButton } from "./RetryButton";
import classes from "./SelectionBar.module.css";

type Props = { selected: ReadonlySet<string>; onDone: () => void };

/** What can be done with the selected deliveries; appears with the first selection. */
export function SelectionBar({ selected, onDone }: Props) {
  const count = selected.size;
  return (
    <Transition mounted={count > 0} transition="slide-up" duration={150}>
      {(style) => (
        <Paper className={classes.bar} shadow="lg" style={style} role="region" aria-label="Selected deliveries">
          <Group justify="space-between" gap="xs">
            <Text size="sm" fw={600} className={classes.count}>
              {count === 1 ? "1 delivery" : `${count} deliveries`}
            </Text>
            <Group gap="xs" wrap="nowrap">
              <Button variant="subtle" color="gray" size="sm" px="xs" onClick={onDone}>
                Cancel
              </Button>
              <RetryButton deliveries={[...selected]} onDone={onDone} />
            </Group>
          </Group>
        </Paper>
      )}
    </Transition>
  );
}
