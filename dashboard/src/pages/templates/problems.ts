import type { FieldProblem } from "../../shared/api/problem";

const COMPONENT = /^components\[(\d+)\]\.?(.*)$/;

export type Problems = Record<string, string>;

/** What is wrong with each field of the editor: `body`, `examples`, `buttons[0].text` and so on. */
export function problemsByField(problems: readonly FieldProblem[], components: { type: string }[]): Problems {
  const found: Problems = {};
  for (const { field, message } of problems) {
    const name = fieldOf(field, components);
    found[name] = found[name] ? `${found[name]} ${sentence(message)}` : sentence(message);
  }
  return found;
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`;
}

function fieldOf(path: string, components: { type: string }[]): string {
  const match = COMPONENT.exec(path);
  if (!match) return path;
  const type = components[Number(match[1])]?.type.toLowerCase() ?? "body";
  const rest = match[2] ?? "";
  if (type === "buttons") return rest.startsWith("buttons[") ? rest : "buttons";
  if (rest.startsWith("example")) return type === "header" ? "headerExample" : "examples";
  return type;
}

/** The problems that have no field of their own in the editor. */
export function otherProblems(found: Problems, known: (field: string) => boolean): string | null {
  const others = Object.entries(found).filter(([field]) => !known(field));
  return others.length ? others.map(([field, message]) => `${field}: ${message}`).join(" ") : null;
}
