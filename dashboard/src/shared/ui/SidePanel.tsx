import { Drawer, type MantineSize } from "@mantine/core";
import { Fragment, type ReactNode } from "react";

type Props = {
  title: string;
  id: string | undefined;
  size?: MantineSize;
  onClose: () => void;
  children: (id: string) => ReactNode;
};

/** Details of one thing at the side of its list; open while there is an id, which is in the address. */
export function SidePanel({ title, id, size = "md", onClose, children }: Props) {
  return (
    <Drawer opened={id !== undefined} onClose={onClose} position="right" size={size} title={title}>
      {id && <Fragment key={id}>{children(id)}</Fragment>}
    </Drawer>
  );
}
