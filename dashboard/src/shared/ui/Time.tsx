import { Tooltip } from "@mantine/core";
import { ago, inFull } from "../times";

/** A time relative to now; the full time on hover. */
export function Time({ value }: { value: string }) {
  return (
    <Tooltip label={inFull(value)}>
      <time dateTime={value}>{ago(value)}</time>
    </Tooltip>
  );
}
