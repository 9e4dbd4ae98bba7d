import { Modal, type ModalProps } from "@mantine/core";
import { useEffect } from "react";
import { restoreFocus } from "../focus";
import { OpeningContext, useOpening } from "./opening";

const open = new Set<object>();

/** Whether a dialog is open, which may be above a panel. */
export function isDialogOpen(): boolean {
  return open.size > 0;
}

/** A dialog. After it, the keyboard goes on where it was, also if a menu or a row that is gone has opened it. */
export function Dialog({ children, ...modal }: ModalProps) {
  const opening = useOpening(modal.opened);
  useEffect(() => {
    if (!modal.opened) return;
    open.add(opening);
    return () => void open.delete(opening);
  }, [opening, modal.opened]);
  return (
    <OpeningContext value={opening}>
      <Modal {...modal}>
        {children}
        <KeepFocus />
      </Modal>
    </OpeningContext>
  );
}

/** A part that is closed: the focus does not get lost with it. */
export function KeepFocus(): null {
  useEffect(() => () => void setTimeout(restoreFocus), []);
  return null;
}
