import type { ReactNode } from "react";
import { ApiProblem } from "../api/problem";
import { Failure } from "./Failure";
import { Problem } from "./Problem";

export type LoadedQuery<Data> = { data: Data | undefined; error: unknown; refetch: () => unknown };
type Props<Data> = { query: LoadedQuery<Data>; loading: ReactNode; children: (data: Data) => ReactNode };

/** What a query found; before that `loading`, or why it failed with a button that tries again. */
export function Loaded<Data>({ query, loading, children }: Props<Data>) {
  if (query.data !== undefined) {
    return (
      <>
        {isGone(query.error) && (
          <Problem>This does not exist any more. Somebody else has deleted it, or merged it with another.</Problem>
        )}
        {children(query.data)}
      </>
    );
  }
  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  return loading;
}

/** Whether what was loaded before is not there any more. */
function isGone(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 404;
}
