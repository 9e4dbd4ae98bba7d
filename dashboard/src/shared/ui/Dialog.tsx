import { Modal, type ModalProps } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { restoreFocus } from "../focus";

/** A dialog. After it, the keyboard goes on where it was, also if a menu or a row that is gone has opened it. */
export function Dialog({ children, ...modal }: ModalProps) {
  return (
    <Modal {...modal}>
      {children}
      <KeepFocus />
    </Modal>
  );
}

/** A part that is closed: the focus does not get lost with it. */
export function KeepFocus(): null {
  useEffect(() => () => void setTimeout(restoreFocus), []);
  return null;
}

/** A dialog with a form. Once something was typed, only its cross closes it: Escape is pressed too easily. */
export function FormDialog({ children, ...modal }: ModalProps) {
  const [edited, setEdited] = useState(false);
  return (
    <Dialog closeOnClickOutside={false} closeOnEscape={!edited} {...modal}>
      <Watched onEdited={setEdited}>{children}</Watched>
    </Dialog>
  );
}

function Watched({ onEdited, children }: { onEdited: (edited: boolean) => void; children: ReactNode }) {
  useEffect(() => () => onEdited(false), [onEdited]);
  return <div onInput={() => onEdited(true)}>{children}</div>;
}
