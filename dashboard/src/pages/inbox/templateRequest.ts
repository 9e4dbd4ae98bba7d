import { fromLocalInput } from "../../shared/times";
import type { SendRequest, Template } from "./queries";
import { type ButtonField, NO_INPUT, productsIn, type TemplateInput, type TemplateShape } from "./templates";

type TemplateContent = NonNullable<SendRequest["template"]>;
type Component = Record<string, unknown>;

/** The ids of the files in the gateway, once they are uploaded. */
export type Uploaded = ReadonlyMap<File, string>;

/** The request for a template. Cards, offers that end and products can be given in the network's own format only. */
export function toContent(
  { name, language }: Pick<Template, "name" | "language">,
  shape: TemplateShape,
  input: TemplateInput,
  uploaded: Uploaded,
): TemplateContent {
  const filled = shape.buttonFields.filter((field) => isGiven(field, input));
  const plain = filled.every(({ field }) => field === "text" || field === "code");
  if (!plain || shape.offer?.ends || shape.cards.length) {
    return { name, language, components: toComponents(shape, input, uploaded) };
  }
  const content: TemplateContent = { name, language };
  if (shape.variables.length) content.variables = toVariables(shape, input.variables);
  const header = toHeader(shape, input, uploaded);
  if (header) content.header = header;
  if (filled.length) {
    content.buttons = filled.map(({ index, field }) => ({ index, [field]: input.buttons[index]?.trim() }));
  }
  return content;
}

function isGiven({ index, field }: ButtonField, input: TemplateInput): boolean {
  return field === "products" || Boolean(input.buttons[index]?.trim());
}

function toVariables(shape: TemplateShape, values: Record<string, string>): string[] | Record<string, string> {
  if (shape.named) return Object.fromEntries(shape.variables.map((name) => [name, values[name]?.trim() ?? ""]));
  return inOrder(shape.variables).map((name) => values[name]?.trim() ?? "");
}

function inOrder(variables: string[]): string[] {
  return variables.toSorted((a, b) => Number(a) - Number(b));
}

function toHeader({ need, named }: TemplateShape, input: TemplateInput, uploaded: Uploaded): TemplateContent["header"] {
  const media = { id: fileId(input, uploaded) };
  switch (need.kind) {
    case "none":
      return null;
    case "text":
      return named ? { [need.variable]: input.header.trim() } : input.header.trim();
    case "location":
      return { type: "location", location: placeOf(input) };
    case "product":
      return { type: "product", product: { catalog_id: input.catalog.trim(), retailer_id: input.product.trim() } };
    case "document":
      return { type: "document", media, filename: input.file?.name };
    default:
      return { type: need.kind, media };
  }
}

function fileId({ file }: TemplateInput, uploaded: Uploaded): string | null {
  return (file && uploaded.get(file)) ?? null;
}

function placeOf({ latitude, longitude, place }: TemplateInput) {
  const number = (text: string) => Number(text.trim().replace(",", "."));
  const point = { latitude: number(latitude), longitude: number(longitude) };
  return place.trim() ? { ...point, name: place.trim() } : point;
}

/** The values in the network's own format: of a template, or of one of its cards. */
function toComponents(shape: TemplateShape, input: TemplateInput, uploaded: Uploaded): Component[] {
  const components: Component[] = [];
  const header = headerParameter(shape, input, uploaded);
  if (header) components.push({ type: "header", parameters: [header] });
  if (shape.variables.length) {
    const names = shape.named ? shape.variables : inOrder(shape.variables);
    const parameters = names.map((name) => textParameter(shape, name, input.variables[name] ?? ""));
    components.push({ type: "body", parameters });
  }
  if (shape.offer?.ends) components.push(offerComponent(input));
  for (const field of shape.buttonFields) if (isGiven(field, input)) components.push(buttonComponent(field, input));
  if (shape.cards.length) {
    const cards = shape.cards.map((card, index) => ({
      card_index: index,
      components: toComponents(card, input.cards[index] ?? NO_INPUT, uploaded),
    }));
    components.push({ type: "carousel", cards });
  }
  return components;
}

function textParameter({ named }: TemplateShape, name: string, value: string): Component {
  const text = { type: "text", text: value.trim() };
  return named ? { ...text, parameter_name: name } : text;
}

function headerParameter(shape: TemplateShape, input: TemplateInput, uploaded: Uploaded): Component | null {
  const { need } = shape;
  const id = fileId(input, uploaded);
  switch (need.kind) {
    case "none":
      return null;
    case "text":
      return textParameter(shape, need.variable, input.header);
    case "location":
      return { type: "location", location: placeOf(input) };
    case "product": {
      const product = { product_retailer_id: input.product.trim(), catalog_id: input.catalog.trim() };
      return { type: "product", product };
    }
    case "document":
      return { type: "document", document: { id, filename: input.file?.name } };
    default:
      return { type: need.kind, [need.kind]: { id } };
  }
}

function offerComponent({ ends }: TemplateInput): Component {
  const expiration_time_ms = new Date(fromLocalInput(ends) ?? 0).getTime();
  const parameter = { type: "limited_time_offer", limited_time_offer: { expiration_time_ms } };
  return { type: "limited_time_offer", parameters: [parameter] };
}

function buttonComponent({ index, field }: ButtonField, { buttons, sections }: TemplateInput): Component {
  const value = buttons[index]?.trim() ?? "";
  const button = (sub_type: string, parameter: Component) => ({
    type: "button",
    sub_type,
    index: String(index),
    parameters: [parameter],
  });
  switch (field) {
    case "text":
      return button("url", { type: "text", text: value });
    case "code":
      return button("copy_code", { type: "coupon_code", coupon_code: value });
    case "thumbnail":
      return button("catalog", { type: "action", action: { thumbnail_product_retailer_id: value } });
    case "products":
      return button("mpm", { type: "action", action: productList(sections) });
  }
}

function productList(sections: TemplateInput["sections"]): Component {
  const listed = sections.map(({ title, products }) => ({ title: title.trim(), products: productsIn(products) }));
  return {
    thumbnail_product_retailer_id: listed[0]?.products[0],
    sections: listed.map(({ title, products }) => ({
      title: title || "Products",
      product_items: products.map((product_retailer_id) => ({ product_retailer_id })),
    })),
  };
}
