import { Button, Center } from "@mantine/core";

type Query = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };

/** The button below a list that loads its next page; nothing if there is none. */
export function LoadMore({ query, label = "Show older ones" }: { query: Query; label?: string }) {
  if (!query.hasNextPage) return null;
  return (
    <Center>
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {label}
      </Button>
    </Center>
  );
}
