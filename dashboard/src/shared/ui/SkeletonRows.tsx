import { Skeleton, Stack } from "@mantine/core";

type Props = { label: string; rows?: number; height?: number };

/** Grey rows while a list is loading. `label` is for screen readers: "Loading orders". */
export function SkeletonRows({ label, rows = 4, height = 56 }: Props) {
  return (
    <Stack gap="xs" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same
        <Skeleton key={row} height={height} radius={8} />
      ))}
    </Stack>
  );
}
