import type { ModalProps } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { Dialog } from "./Dialog";
import { Unsaved } from "./Unsaved";

/** A dialog with a form. Once something was typed, only its cross closes it: Escape is pressed too easily. */
export function FormDialog({ children, ...modal }: ModalProps) {
  const [edited, setEdited] = useState(false);
  return (
    <>
      <Dialog closeOnClickOutside={false} closeOnEscape={!edited} {...modal}>
        <Watched onEdited={setEdited}>{children}</Watched>
      </Dialog>
      {edited && modal.opened && <Unsaved edited />}
    </>
  );
}

function Watched({ onEdited, children }: { onEdited: (edited: boolean) => void; children: ReactNode }) {
  useEffect(() => () => onEdited(false), [onEdited]);
  return <div onInput={() => onEdited(true)}>{children}</div>;
}
