import { Button, Stack, Text } from "@mantine/core";
import { inWords } from "../api/problem";
import { loadNext } from "../lists";

type Query = Parameters<typeof loadNext>[0] & {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: unknown;
};
type Props = { query: Query; label?: string; size?: "compact-sm" };

/** The button below a list that loads its next page; nothing if there is none. It says why that failed. */
export function LoadMore({ query, label = "Show older ones", size }: Props) {
  if (!query.hasNextPage) return null;
  const failed = query.isFetchNextPageError;
  return (
    <Stack align="center" gap="xs">
      {failed && (
        <Text size="sm" c="red" ta="center" role="alert">
          Loading more failed. {inWords(query.error)}
        </Text>
      )}
      <Button variant="default" size={size} loading={query.isFetchingNextPage} onClick={() => void loadNext(query)}>
        {failed ? "Try again" : label}
      </Button>
    </Stack>
  );
}
