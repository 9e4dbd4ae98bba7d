import { ApiProblem, type FieldProblem } from "../../shared/api/problem";

const COMPONENT = /^components\[(\d+)\]\.?(.*)$/;

/** What is wrong with each field of the editor: `body`, `examples`, `buttons[0].text` and so on. */
export function problemsByField(error: unknown, components: { type: string }[]): Record<string, string> {
  const problems: FieldProblem[] = error instanceof ApiProblem ? error.fields : [];
  const found: Record<string, string> = {};
  for (const { field, message } of problems) {
    const name = fieldOf(field, components);
    found[name] ??= message;
  }
  return found;
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
export function otherProblems(found: Record<string, string>, known: (field: string) => boolean): string | null {
  const others = Object.entries(found).filter(([field]) => !known(field));
  return others.length ? others.map(([field, message]) => `${field} ${message}`).join("; ") : null;
}
