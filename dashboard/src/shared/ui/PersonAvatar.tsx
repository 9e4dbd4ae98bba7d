import { Avatar } from "@mantine/core";
import { initialsOf } from "../initials";
import { visibleName } from "../visibleName";

const COLORS = ["teal", "orange", "yellow"]; // those of the theme whose text is readable on a light background

/** The initials of a person, or the first digit of a number; a picture of nobody without both. */
export function PersonAvatar({ name, size }: { name: string | null | undefined; size: number }) {
  const shown = visibleName(name)?.replace(/^\+/, "");
  return (
    <Avatar name={shown} color="initials" allowedInitialsColors={COLORS} radius="xl" size={size} aria-hidden>
      {shown && initialsOf(shown)}
    </Avatar>
  );
}
