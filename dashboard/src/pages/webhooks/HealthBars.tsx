import { Group, Stack, Text, Tooltip } from "@mantine/core";
import { duration, inFull } from "../../shared/times";
import { healthOf, healthWords, hourWords, shadeOf } from "./figures";
import classes from "./HealthBars.module.css";
import { useFigures } from "./queries";

/** The last 24 hours of an endpoint, one bar each. */
export function HealthBars({ endpoint }: { endpoint: string }) {
  const { data: hours } = useFigures(endpoint);
  if (!hours) return <Stack gap={6} h={53} />; // as high as below: the page does not jump
  const health = healthOf(hours);
  const words = healthWords(health);
  return (
    <Stack gap={6}>
      <div className={classes.bars} role="img" aria-label={words}>
        {hours.map((hour) => (
          <Tooltip key={hour.hour} label={`${inFull(hour.hour)}: ${hourWords(hour)}`}>
            <div className={classes.bar} data-shade={shadeOf(hour)} />
          </Tooltip>
        ))}
      </div>
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed">
          {words}
        </Text>
        {health.slowest !== null && (
          <Text size="xs" c="dimmed">
            Slowest hour: 95 % within {duration(health.slowest)}
          </Text>
        )}
      </Group>
    </Stack>
  );
}
