import { fromLocalInput } from "../../shared/times";
import type { Section, TemplateValues } from "./content";
import type { Template } from "./queries";

const VARIABLE = /\{\{\s*([\w]+)\s*\}\}/g;

/** The value of a button: the end of an address, a code, products to choose from, or the picture of a catalogue. */
export type ButtonField = {
  index: number;
  label: string;
  field: "text" | "code" | "products" | "thumbnail";
  max: number;
  optional?: boolean;
};
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
  offer: { text: string; ends: boolean } | null;
  cards: TemplateShape[];
};

type Component = Record<string, unknown>;
type Given = Pick<Template, "components" | "parameter_format"> & Partial<Pick<Template, "category">>;

const CODE_TEXT = "{{1}} is your verification code.";

/** What a template shows, and which values it needs. */
export function readTemplate({ components, parameter_format, category }: Given): TemplateShape {
  const shape = readParts(components as Component[], upper(parameter_format) === "NAMED");
  // The network writes the text of a code; the code is its only value.
  if (shape.body || upper(category) !== "AUTHENTICATION") return shape;
  return { ...shape, body: CODE_TEXT, variables: namesIn(CODE_TEXT) };
}

/** Reads the parts of a template, or of one of its cards. */
function readParts(components: Component[], named: boolean): TemplateShape {
  const by = (type: string) => components.find((one) => upper(one.type) === type);
  const head = by("HEADER");
  const body = String(by("BODY")?.text ?? "");
  const offer = by("LIMITED_TIME_OFFER")?.limited_time_offer as Component | undefined;
  const cards = (by("CAROUSEL")?.cards ?? []) as { components?: Component[] }[];
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
    named,
    buttons: buttons.map(({ type, text }) => String(text ?? (upper(type) === "COPY_CODE" ? "Copy code" : ""))),
    buttonFields: buttons.flatMap(buttonField),
    offer: offer ? { text: String(offer.text ?? ""), ends: offer.has_expiration === true } : null,
    cards: cards.map((card) => readParts(card.components ?? [], named)),
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
  if (type === "MPM") return [{ index, label: "Products", field: "products", max: 100 }];
  if (type === "CATALOG") {
    return [{ index, label: "Product whose picture is shown", field: "thumbnail", max: 100, optional: true }];
  }
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

/** Products of a list: a title, and the ids of the products, one in each line. */
export type ProductSection = { title: string; products: string };

/** What a person typed for a template, or for one of its cards. */
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
  sections: ProductSection[];
  ends: string; // of an offer, in the viewer's time zone
  cards: TemplateInput[];
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
  sections: [{ title: "", products: "" }],
  ends: "",
  cards: [],
};

export function isFileKind(kind: HeaderNeed["kind"]): kind is FileKind {
  return kind === "image" || kind === "video" || kind === "gif" || kind === "document";
}

/** Whether every value that the template and its cards need is given. */
export function isComplete(shape: TemplateShape, input: TemplateInput): boolean {
  return (
    shape.variables.every((name) => input.variables[name]?.trim()) &&
    shape.buttonFields.every((field) => hasButton(field, input)) &&
    hasHeader(shape.need, input) &&
    (!shape.offer?.ends || fromLocalInput(input.ends) !== undefined) &&
    shape.cards.every((card, index) => isComplete(card, input.cards[index] ?? NO_INPUT))
  );
}

function hasButton({ index, field, optional }: ButtonField, input: TemplateInput): boolean {
  if (field !== "products") return optional || Boolean(input.buttons[index]?.trim());
  const { sections } = input; // one list needs no title
  return sections.every(
    ({ title, products }) => productsIn(products).length && (title.trim() || sections.length === 1),
  );
}

/** The ids of products, one in each line. */
export function productsIn(text: string): string[] {
  return text.split("\n").flatMap((line) => line.trim() || []);
}

/** The products of a template as they are drawn. Sections without products are left out. */
export function sectionsOf({ sections }: TemplateInput): Section[] {
  return sections
    .map(({ title, products }) => ({
      title: title.trim() || null,
      rows: productsIn(products).map((id) => ({ title: id, description: null })),
    }))
    .filter(({ rows }) => rows.length);
}

/** All files of a template and its cards. */
export function filesOf(input: TemplateInput): File[] {
  return [...(input.file ? [input.file] : []), ...input.cards.flatMap(filesOf)];
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
