import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useFocusTrap } from "./focus";
import { IconButton } from "./IconButton";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  footer?: ComponentChildren;
}

/** A sheet that covers the lower part of a phone. The phone below is inert while it is open. */
export function Sheet({ title, onClose, children, footer }: Props) {
  const ref = useFocusTrap<HTMLDivElement>(onClose);
  const id = useId();
  return (
    <div class="sheet-layer">
      <button type="button" class="sheet-shade" tabIndex={-1} aria-hidden="true" onClick={onClose} />
      <div class="sheet" role="dialog" aria-labelledby={id} tabIndex={-1} ref={ref}>
        <header class="sheet-header">
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        <div class="sheet-body">{children}</div>
        {footer ? <footer class="sheet-footer">{footer}</footer> : null}
      </div>
    </div>
  );
}
