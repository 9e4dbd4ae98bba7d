import { Drawer, type MantineSize } from "@mantine/core";
import { Fragment, type ReactNode } from "react";
import { isDialogOpen, KeepFocus } from "./Dialog";
import { OpeningContext, useOpening } from "./opening";

type Props = {
  title: string;
  id: string | undefined;
  size?: MantineSize;
  edited?: boolean; // it has something that is not saved: only the cross closes it
  onClose: () => void;
  children: (id: string) => ReactNode;
};

/** Details of one thing at the side of its list; open while there is an id, which is in the address. */
export function SidePanel({ title, id, size = "md", edited = false, onClose, children }: Props) {
  const opening = useOpening(id);
  return (
    <Drawer
      opened={id !== undefined}
      onClose={() => {
        if (!isDialogOpen()) onClose(); // Escape in a dialog above closes that one only
      }}
      position="right"
      size={size}
      title={title}
      closeOnClickOutside={!edited}
      closeOnEscape={!edited}
    >
      <OpeningContext value={opening}>{id && <Fragment key={id}>{children(id)}</Fragment>}</OpeningContext>
      <KeepFocus />
    </Drawer>
  );
}
