import type { ReactNode } from "react";
import { Loaded, type LoadedQuery } from "./Loaded";

type Props<Data> = {
  query: LoadedQuery<Data> & { isPlaceholderData: boolean };
  loading: ReactNode;
  children: (data: Data) => ReactNode;
};

/** A list of `usePages`. While another filter is loaded, the rows of the one before are grey, and cannot be used. */
export function Listed<Data>({ query, loading, children }: Props<Data>) {
  const { isPlaceholderData: former } = query;
  return (
    <Loaded query={query} loading={loading}>
      {(data) => (
        <div inert={former} aria-busy={former} style={{ opacity: former ? 0.45 : undefined }}>
          {children(data)}
        </div>
      )}
    </Loaded>
  );
}
