import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Resource } from "../shared/resources";
import { curlHere } from "./requests";
import { Action, Card, CurlLine, Empty, Loaded } from "./ui";

const MOST = 200;

interface Props<T> {
  of: Resource<T[]>;
  empty: string;
  why: string; // what is missing without one
  title: string; // of the form
  add: string; // the button that opens it
  form: (end: () => void, cancel: boolean) => ComponentChildren;
  row: (one: T) => ComponentChildren;
}

/** A list and the form that adds to it, which is open while the list is empty. */
export function GrowingList<T>({ of, empty, why, title, add, form, row }: Props<T>) {
  const [adding, setAdding] = useState(false);
  return (
    <Loaded of={of}>
      {(all) => (
        <div class="stack">
          {all.length === 0 && <Empty title={empty}>{why}</Empty>}
          {all.length === 0 || adding ? (
            <Card title={title}>{form(() => setAdding(false), adding)}</Card>
          ) : (
            <div class="row">
              <button type="button" class="button primary" onClick={() => setAdding(true)}>
                {add}
              </button>
            </div>
          )}
          {all.slice(0, MOST).map(row)}
          {all.length > MOST && (
            <>
              <p class="hint">{all.length - MOST} more are not shown. The control API lists all:</p>
              <CurlLine curl={curlHere({ method: "GET", path: of.path })} />
            </>
          )}
        </div>
      )}
    </Loaded>
  );
}

interface ChangeProps {
  name: string;
  path: string; // of the control API, to delete it
  changes: readonly string[];
  form: (end: () => void) => ComponentChildren;
  before?: ComponentChildren; // above the buttons
  first?: ComponentChildren; // of the buttons
}

/** The buttons that change and delete one of a list; while it is changed, the form is in their place. */
export function ChangeAndDelete({ name, path, changes, form, before, first }: ChangeProps) {
  const [changing, setChanging] = useState(false);
  if (changing) return <>{form(() => setChanging(false))}</>;
  return (
    <>
      {before}
      <div class="row">
        {first}
        <button type="button" class="button" onClick={() => setChanging(true)}>
          Change
        </button>
        <Action
          label="Delete"
          look="danger"
          confirm={`Delete ${name}?`}
          requests={[{ method: "DELETE", path }]}
          changes={changes}
        />
      </div>
    </>
  );
}
