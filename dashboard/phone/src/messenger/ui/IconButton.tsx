import type { ComponentProps } from "preact";
import { Icon, type IconName } from "./Icon";

type Props = Omit<ComponentProps<"button">, "icon" | "label" | "type"> & { icon: IconName; label: string };

/** A round button with a symbol and a label for screen readers. */
export function IconButton({ icon, label, class: className = "", ...rest }: Props) {
  return (
    <button type="button" class={`icon-button ${className}`} aria-label={label} title={label} {...rest}>
      <Icon name={icon} size={22} />
    </button>
  );
}
