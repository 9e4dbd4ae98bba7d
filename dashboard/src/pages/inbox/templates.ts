import type { TemplateValues } from "./content";
import type { SendRequest, Template } from "./queries";

const VARIABLE = /\{\{\s*([\w]+)\s*\}\}/g;

export type ButtonField = { index: number; label: string; field: "text" | "code"; max: number };
export type FileKind = "image" | "video" | "gif" | "document";
export type HeaderNeed =
  | { kind: "none" }
  | { kind: "text"; variable: string }
  | { kind: FileKind }
  | { kind: "location" }
  | { kind: "product" };

export type TemplateShape = {
  header: { format: string; text: string; variable: string | null } | null;
  need: HeaderNeed;
  body: string;
  footer: string | null;
  variables: string[];
  named: boolean;
  buttons: string[];
  buttonFields: ButtonField[];
  onlyByApi: boolean; // it has parts whose values this page does not ask for
};

type Component = Record<string, unknown>;
type Given = Pick<Template, "components" | "parameter_format"> & Partial<Pick<Template, "category">>;

const CODE_TEXT = "{{1}} is your verification code.";

/** What a template shows, and which values it needs. */
export function readTemplate({ components, parameter_format, category }: Given): TemplateShape {
  const by = (type: string) => (components as Component[]).find((one) => upper(one.type) === type);
  const head = by("HEADER");
  // The network writes the text of a code; the code is its only value.
  const text = String(by("BODY")?.text ?? "");
  const body = text || (upper(category) === "AUTHENTICATION" ? CODE_TEXT : "");
  const buttons = (by("BUTTONS")?.buttons ?? []) as Component[];
  const headText = String(head?.text ?? "");
  const header = head && {
    format: upper(head.format ?? "TEXT"),
    text: headText,
    variable: namesIn(headText)[0] ?? null,
  };
  return {
    header: header ?? null,
    need: headerNeed(header),
    body,
    footer: by("FOOTER") ? String(by("FOOTER")?.text ?? "") : null,
    variables: namesIn(body),
    named: upper(parameter_format) === "NAMED",
    buttons: buttons.map((button) => String(button.text ?? "")),
    buttonFields: buttons.flatMap(buttonField),
    onlyByApi: Boolean(by("CAROUSEL") || by("LIMITED_TIME_OFFER")) || buttons.some(({ type }) => upper(type) === "MPM"),
  };
}

function headerNeed(header: { format: string; variable: string | null } | undefined): HeaderNeed {
  if (!header) return { kind: "none" };
  if (header.format === "TEXT") return header.variable ? { kind: "text", variable: header.variable } : { kind: "none" };
  return { kind: header.format.toLowerCase() as FileKind | "location" | "product" };
}

function buttonField(button: Component, index: number): ButtonField[] {
  const type = upper(button.type);
  const label = `End of the address of “${String(button.text ?? "")}”`;
  if (type === "URL" && namesIn(String(button.url ?? "")).length) return [{ index, label, field: "text", max: 2000 }];
  if (type === "OTP") return [{ index, label: "Code of the button", field: "text", max: 15 }];
  if (type === "COPY_CODE") return [{ index, label: "Code to copy", field: "code", max: 20 }];
  return [];
}

function upper(value: unknown): string {
  return String(value ?? "").toUpperCase();
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

/** What a person typed for a template. */
export type TemplateInput = {
  variables: Record<string, string>;
  header: string;
  file: File | null;
  latitude: string;
  longitude: string;
  place: string;
  catalog: string;
  product: string;
  buttons: Record<number, string>;
};

export const NO_INPUT: TemplateInput = {
  variables: {},
  header: "",
  file: null,
  latitude: "",
  longitude: "",
  place: "",
  catalog: "",
  product: "",
  buttons: {},
};

export function isFileKind(kind: HeaderNeed["kind"]): kind is FileKind {
  return kind === "image" || kind === "video" || kind === "gif" || kind === "document";
}

/** Whether every value that the template needs is given. */
export function isComplete({ need, variables, buttonFields }: TemplateShape, input: TemplateInput): boolean {
  return (
    variables.every((name) => input.variables[name]?.trim()) &&
    buttonFields.every(({ index }) => input.buttons[index]?.trim()) &&
    hasHeader(need, input)
  );
}

function hasHeader(need: HeaderNeed, input: TemplateInput): boolean {
  if (need.kind === "none") return true;
  if (need.kind === "text") return input.header.trim() !== "";
  if (need.kind === "product") return input.catalog.trim() !== "" && input.product.trim() !== "";
  if (need.kind === "location") return isDegree(input.latitude, 90) && isDegree(input.longitude, 180);
  return input.file !== null;
}

function isDegree(text: string, most: number): boolean {
  const value = Number(text.trim().replace(",", "."));
  return text.trim() !== "" && Math.abs(value) <= most;
}

type TemplateContent = NonNullable<SendRequest["template"]>;

/** The request for a template. `media`: the id of the file, once it is uploaded. */
export function toContent(
  template: Pick<Template, "name" | "language">,
  shape: TemplateShape,
  input: TemplateInput,
  media: string | null,
): TemplateContent {
  const content: TemplateContent = { name: template.name, language: template.language };
  if (shape.variables.length) content.variables = toVariables(shape, input.variables);
  const header = toHeader(shape, input, media);
  if (header) content.header = header;
  if (shape.buttonFields.length) {
    content.buttons = shape.buttonFields.map(({ index, field }) => ({ index, [field]: input.buttons[index]?.trim() }));
  }
  return content;
}

function toVariables(shape: TemplateShape, values: Record<string, string>): string[] | Record<string, string> {
  if (shape.named) return Object.fromEntries(shape.variables.map((name) => [name, values[name]?.trim() ?? ""]));
  return shape.variables.toSorted((a, b) => Number(a) - Number(b)).map((name) => values[name]?.trim() ?? "");
}

function toHeader(
  { need, named }: TemplateShape,
  input: TemplateInput,
  media: string | null,
): TemplateContent["header"] {
  const number = (text: string) => Number(text.trim().replace(",", "."));
  switch (need.kind) {
    case "none":
      return null;
    case "text":
      return named ? { [need.variable]: input.header.trim() } : input.header.trim();
    case "location": {
      const name = input.place.trim();
      const place = { latitude: number(input.latitude), longitude: number(input.longitude) };
      return { type: "location", location: name ? { ...place, name } : place };
    }
    case "product":
      return {
        type: "product",
        product: { catalog_id: input.catalog.trim(), retailer_id: input.product.trim() },
      };
    case "document":
      return { type: "document", media: { id: media }, filename: input.file?.name };
    default:
      return { type: need.kind, media: { id: media } };
  }
}
