import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useCallback, useEffect, useRef } from "react";
import { isSame } from "../fields";
import { ConfirmDialog } from "./ConfirmDialog";

type Place = { pathname: string; search: unknown };
type Props = { edited: boolean; children?: ReactNode };

/** While something is not saved, asks before the page is left: by a link, the back button, or closing the tab. */
export function Unsaved({ edited, children = "If you leave now, what you have written here is lost." }: Props) {
  const latest = useRef(false);
  useEffect(() => {
    latest.current = edited;
    return () => {
      latest.current = false;
    };
  }, [edited]);
  const isLost = useCallback(async ({ current, next }: { current: Place; next: Place }) => {
    if (isSame([current.pathname, current.search], [next.pathname, next.search])) return false;
    await new Promise((resolve) => setTimeout(resolve)); // a form that is left because it was saved says so by then
    return latest.current;
  }, []);
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isLost,
    enableBeforeUnload: edited,
    disabled: !edited,
    withResolver: true,
  });
  return (
    <ConfirmDialog
      title="Leave without saving?"
      action="Leave"
      opened={status === "blocked"}
      busy={false}
      error={null}
      onConfirm={() => proceed?.()}
      onClose={() => reset?.()}
    >
      {children}
    </ConfirmDialog>
  );
}
