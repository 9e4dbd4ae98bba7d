import { Tooltip } from "@mantine/core";
import { ago, inFull } from "../times";
import { useNow } from "../useNow";

/** A time relative to now; the full time on hover. */
export function Time({ value }: { value: string }) {
  useNow(); // draws it again as time passes
  return (
    <Tooltip label={inFull(value)}>
      <time dateTime={value}>{ago(value)}</time>
    </Tooltip>
  );
}
