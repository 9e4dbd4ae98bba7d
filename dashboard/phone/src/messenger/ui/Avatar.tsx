import { initials, shade } from "../logic/words";

const SHADES = 6;

/** The initials of a name on a colour that stays the same. */
export function Avatar({ name, small = false }: { name: string; small?: boolean }) {
  return (
    <span class={`avatar shade-${shade(name, SHADES)}${small ? " small" : ""}`} aria-hidden="true">
      {initials(name)}
    </span>
  );
}
