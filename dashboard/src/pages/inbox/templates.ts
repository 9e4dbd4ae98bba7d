import type { TemplateValues } from "./content";
import type { Template } from "./queries";

const VARIABLE = /\{\{\s*([\w]+)\s*\}\}/g;

export type TemplateButtonField = { index: number; label: string; field: "text" | "code" };
export type TemplateShape = {
  header: { format: string; text: string; variable: string | null } | null;
  body: string;
  footer: string | null;
  variables: string[];
  named: boolean;
  buttons: string[];
  buttonFields: TemplateButtonField[];
};

type Component = Record<string, unknown>;

/** What a template shows, and which values it needs. */
export function readTemplate({ components, parameter_format }: Pick<Template, "components" | "parameter_format">) {
  const by = (type: string) => (components as Component[]).find((one) => String(one.type).toUpperCase() === type);
  const head = by("HEADER");
  const body = String(by("BODY")?.text ?? "");
  const buttons = ((by("BUTTONS")?.buttons ?? []) as Component[]).map((button) => ({
    type: String(button.type).toUpperCase(),
    text: String(button.text ?? ""),
    url: String(button.url ?? ""),
  }));
  const headText = String(head?.text ?? "");
  const shape: TemplateShape = {
    header: head
      ? { format: String(head.format ?? "TEXT").toUpperCase(), text: headText, variable: namesIn(headText)[0] ?? null }
      : null,
    body,
    footer: by("FOOTER") ? String(by("FOOTER")?.text ?? "") : null,
    variables: namesIn(body),
    named: parameter_format.toUpperCase() === "NAMED",
    buttons: buttons.map(({ text }) => text),
    buttonFields: buttons.flatMap(({ type, text, url }, index): TemplateButtonField[] => {
      if (type === "URL" && namesIn(url).length) {
        return [{ index, label: `End of the address of “${text}”`, field: "text" }];
      }
      if (type === "COPY_CODE") return [{ index, label: "Code to copy", field: "code" }];
      return [];
    }),
  };
  return shape;
}

function namesIn(text: string): string[] {
  return [...new Set([...text.matchAll(VARIABLE)].map((found) => found[1] ?? ""))];
}

/** A text with its variables filled in. A variable without a value stays as it is. */
export function fill(text: string, values: TemplateValues["variables"]): string {
  return text.replace(VARIABLE, (whole, name: string) => {
    const value = Array.isArray(values) ? values[Number(name) - 1] : values[name];
    return value || whole;
  });
}
