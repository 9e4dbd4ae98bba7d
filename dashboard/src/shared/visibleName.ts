const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Control}\u2800]/u;

/** The name of a person; nothing if no character of it can be seen, which the network allows. */
export function visibleName(name: string | null | undefined): string | null {
  return name && VISIBLE.test(name) ? name : null;
}
