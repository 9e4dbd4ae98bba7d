import type { TemplatePreview } from "./queries";

/** A template as the editor holds it. Values are the examples of the variables, by the variable's name. */
export type TemplateForm = {
  name: string;
  language: string;
  category: string;
  header: string;
  headerExample: string;
  body: string;
  examples: Record<string, string>;
  footer: string;
  buttons: ButtonForm[];
};

export type ButtonType = "QUICK_REPLY" | "URL" | "PHONE_NUMBER" | "COPY_CODE";
export type ButtonForm = { key: number; type: ButtonType; text: string; value: string; example: string };

export const NEW_TEMPLATE: TemplateForm = {
  name: "",
  language: "en_US",
  category: "UTILITY",
  header: "",
  headerExample: "",
  body: "",
  examples: {},
  footer: "",
  buttons: [],
};

const VARIABLE = /\{\{([^{}]*)\}\}/g;

/** The names of the variables in a text, in order, each once. */
export function variablesOf(text: string): string[] {
  return [...new Set([...text.matchAll(VARIABLE)].map((match) => (match[1] ?? "").trim()))];
}

/** The text with its variables filled in; one without a value stays as it is. */
export function fill(text: string, values: Record<string, string>): string {
  return text.replace(VARIABLE, (whole, name: string) => values[name.trim()] || whole);
}

/** The number of the next variable. */
export function nextVariable(text: string): string {
  const numbers = variablesOf(text).map(Number).filter(Number.isInteger);
  return `{{${Math.max(0, ...numbers) + 1}}}`;
}

type Json = Record<string, unknown>;

/** The template that the form describes. */
export function templateOf(form: TemplateForm) {
  return {
    name: form.name.trim(),
    language: form.language.trim(),
    category: form.category,
    components: componentsOf(form),
  };
}

/** The components of the form, and which field of the form each one is. */
export function componentsOf(form: TemplateForm): { type: string; [field: string]: unknown }[] {
  const components: { type: string; [field: string]: unknown }[] = [];
  if (form.header) {
    const example = variablesOf(form.header).length ? { example: { header_text: [form.headerExample] } } : {};
    components.push({ type: "HEADER", format: "TEXT", text: form.header, ...example });
  }
  const names = variablesOf(form.body);
  const example = names.length ? { example: { body_text: [names.map((name) => form.examples[name] ?? "")] } } : {};
  components.push({ type: "BODY", text: form.body, ...example });
  if (form.footer) components.push({ type: "FOOTER", text: form.footer });
  if (form.buttons.length) components.push({ type: "BUTTONS", buttons: form.buttons.map(buttonOf) });
  return components;
}

function buttonOf({ type, text, value, example }: ButtonForm): Json {
  if (type === "URL") return { type, text, url: value, ...(variablesOf(value).length ? { example: [example] } : {}) };
  if (type === "PHONE_NUMBER") return { type, text, phone_number: value };
  return type === "COPY_CODE" ? { type, example: value } : { type, text };
}

type Shown = { name: string; language: string; category: string; components: Json[]; parameter_format?: string };

const find = (components: Json[], type: string) => components.find((one) => String(one.type).toUpperCase() === type);
const text = (value: unknown) => (typeof value === "string" ? value : "");

/** The form of an existing template, or null if it has parts that the editor cannot change. */
export function formOf(template: Shown): TemplateForm | null {
  const { components } = template;
  const known = ["HEADER", "BODY", "FOOTER", "BUTTONS"];
  if (template.category === "AUTHENTICATION" || template.parameter_format?.toUpperCase() === "NAMED") return null;
  if (components.some((one) => !known.includes(String(one.type).toUpperCase()))) return null;
  const header = find(components, "HEADER");
  if (header && text(header.format).toUpperCase() !== "TEXT") return null;
  const buttons = readButtons(find(components, "BUTTONS"));
  if (!buttons) return null;
  return {
    name: template.name,
    language: template.language,
    category: template.category,
    header: text(header?.text),
    headerExample: Object.values(examplesOf(header, "header"))[0] ?? "",
    body: text(find(components, "BODY")?.text),
    examples: examplesOf(find(components, "BODY"), "body"),
    footer: text(find(components, "FOOTER")?.text),
    buttons,
  };
}

function readButtons(component: Json | undefined): ButtonForm[] | null {
  const buttons = (component?.buttons ?? []) as Json[];
  const read = buttons.map((button, key): ButtonForm | null => {
    const type = text(button.type).toUpperCase() as ButtonType;
    if (!BUTTON_TYPES.some((one) => one.value === type)) return null;
    const example = first(button.example);
    const value = text(button.url) || text(button.phone_number) || (type === "COPY_CODE" ? example : "");
    return { key, type, text: text(button.text), value, example };
  });
  return read.every((one) => one !== null) ? (read as ButtonForm[]) : null;
}

const first = (value: unknown): string => text(Array.isArray(value) ? value[0] : value);

/** The examples of the body or the header, by variable. */
export function examplesOf(component: Json | undefined, part: "body" | "header"): Record<string, string> {
  const example = (component?.example ?? {}) as Json;
  const named = example[`${part}_text_named_params`];
  if (Array.isArray(named)) {
    return Object.fromEntries(named.map((row: Json) => [text(row.param_name), text(row.example)]));
  }
  const row = example[`${part}_text`];
  const values: unknown[] = Array.isArray(row) ? (Array.isArray(row[0]) ? row[0] : row) : [];
  return Object.fromEntries(values.map((value, i) => [String(i + 1), text(value)]));
}

export const BUTTON_TYPES: { value: ButtonType; label: string }[] = [
  { value: "QUICK_REPLY", label: "Quick reply" },
  { value: "URL", label: "Open a page" },
  { value: "PHONE_NUMBER", label: "Call a number" },
  { value: "COPY_CODE", label: "Copy a code" },
];

export type Bubble = {
  header: string | null;
  media: string | null;
  body: string;
  footer: string | null;
  buttons: string[];
  more: string[];
};

const BUTTON_TEXTS: Record<string, string> = {
  COPY_CODE: "Copy code",
  OTP: "Copy code",
  CATALOG: "View catalogue",
  URL: "Button",
  PHONE_NUMBER: "Button",
  QUICK_REPLY: "Button",
};

/** What the person will see, as the gateway shows it. */
export function bubbleOfPreview({ header, body, footer, buttons }: TemplatePreview): Bubble {
  return {
    header: header?.text ?? null,
    media: header && header.type !== "text" ? header.type.toUpperCase() : null,
    body,
    footer,
    buttons: buttons.map((one) => one.text || BUTTON_TEXTS[one.type] || one.type),
    more: [],
  };
}

/** What the person will see, with the examples as values. */
export function bubbleOf(components: Json[]): Bubble {
  const header = find(components, "HEADER");
  const format = text(header?.format).toUpperCase() || "TEXT";
  const body = find(components, "BODY");
  const buttons = (find(components, "BUTTONS")?.buttons ?? []) as Json[];
  const known = ["HEADER", "BODY", "FOOTER", "BUTTONS"];
  return {
    header: header && format === "TEXT" ? fill(text(header.text), examplesOf(header, "header")) : null,
    media: header && format !== "TEXT" ? format : null,
    body: fill(text(body?.text), examplesOf(body, "body")),
    footer: text(find(components, "FOOTER")?.text) || null,
    buttons: buttons.map((one) => text(one.text) || BUTTON_TEXTS[text(one.type).toUpperCase()] || text(one.type)),
    more: components.map((one) => text(one.type).toUpperCase()).filter((type) => !known.includes(type)),
  };
}
