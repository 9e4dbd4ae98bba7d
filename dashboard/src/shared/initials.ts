const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The initials of a name: of its first two words, or the first two characters of a single one. */
export function initialsOf(name: string): string {
  const words = name.split(/\s+/).filter(Boolean);
  const parts = words.length === 1 ? words.map((word) => firstOf(word, 2)) : words.map((word) => firstOf(word, 1));
  return parts.slice(0, 2).join("").toUpperCase();
}

/** The first characters as a reader counts them: an emoji is one, whatever it consists of. */
function firstOf(text: string, count: number): string {
  return [...characters.segment(text)].slice(0, count).reduce((all, { segment }) => all + segment, "");
}
