import { Avatar } from "@mantine/core";

const COLORS = ["teal", "orange", "yellow"]; // those of the theme whose text is readable on a light background

/** The initials of a person, or the first digit of a number. */
export function PersonAvatar({ name, size }: { name: string; size: number }) {
  return (
    <Avatar
      name={name.replace(/^\+/, "")}
      color="initials"
      allowedInitialsColors={COLORS}
      radius="xl"
      size={size}
      aria-hidden
    />
  );
}
