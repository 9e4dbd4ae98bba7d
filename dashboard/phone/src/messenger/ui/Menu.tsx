import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./Icon";
import { IconButton } from "./IconButton";

export interface MenuItem {
  label: string;
  icon: IconName;
  onSelect: () => void;
  danger?: boolean;
}

interface Props {
  label: string;
  icon?: IconName;
  items: MenuItem[];
}

/** A button that opens a menu below it. */
export function Menu({ label, icon = "more", items }: Props) {
  const open = useSignal(false);
  const root = useRef<HTMLDivElement>(null);
  const close = (focus = true) => {
    open.value = false;
    if (focus) root.current?.querySelector<HTMLElement>(".icon-button")?.focus();
  };
  return (
    <div class="menu" ref={root}>
      <IconButton
        icon={icon}
        label={label}
        aria-haspopup="menu"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      />
      {open.value ? <MenuList label={label} items={items} onClose={close} /> : null}
    </div>
  );
}

function MenuList({ label, items, onClose }: { label: string; items: MenuItem[]; onClose: (focus?: boolean) => void }) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const outside = (event: PointerEvent) => {
      if (!list.current?.parentElement?.contains(event.target as Node)) onClose(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [onClose]);
  return (
    <div
      class="menu-list"
      role="menu"
      aria-label={label}
      tabIndex={-1}
      ref={list}
      onKeyDown={(event) => onMenuKey(event, list.current, onClose)}
    >
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={item.danger ? "danger" : ""}
          onClick={() => {
            onClose();
            item.onSelect();
          }}
        >
          <Icon name={item.icon} /> {item.label}
        </button>
      ))}
    </div>
  );
}

function onMenuKey(event: KeyboardEvent, list: HTMLElement | null, onClose: (focus?: boolean) => void): void {
  if (event.key === "Escape" || event.key === "Tab") {
    event.stopPropagation();
    if (event.key === "Escape") event.preventDefault();
    onClose(event.key === "Escape");
    return;
  }
  const items = [...(list?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const next = nextIndex(event.key, items.indexOf(document.activeElement as HTMLElement), items.length);
  if (next === null) return;
  event.preventDefault();
  items[next]?.focus();
}

/** Return the item that a key moves to, or null. */
export function nextIndex(key: string, at: number, count: number): number | null {
  if (!count) return null;
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at - 1 + count) % count;
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : null;
}
