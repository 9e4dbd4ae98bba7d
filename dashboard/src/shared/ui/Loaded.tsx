import type { ReactNode } from "react";
import { Failure } from "./Failure";

export type LoadedQuery<Data> = { data: Data | undefined; error: unknown; refetch: () => unknown };
type Props<Data> = { query: LoadedQuery<Data>; loading: ReactNode; children: (data: Data) => ReactNode };

/** What a query found; before that `loading`, or why it failed with a button that tries again. */
export function Loaded<Data>({ query, loading, children }: Props<Data>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  return loading;
}
