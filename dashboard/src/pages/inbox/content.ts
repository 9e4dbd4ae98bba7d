import type { Message } from "./queries";

type Json = Record<string, unknown>;

/** What a file of a message is, as far as it is known. It has an id of the gateway, or a link to another host. */
export type FileInfo = {
  id: string | null;
  link: string | null;
  mime: string | null;
  name: string | null;
  size: number | null;
};
export type FileLook = "image" | "video" | "audio" | "document" | "sticker";
export type Card = { name: string; company: string | null; lines: string[]; urls: string[] };
export type Section = { title: string | null; rows: { title: string; description: string | null }[] };
export type OrderLine = { product: string; quantity: number; price: string; currency: string };
export type Header = { text: string | null; file: FileInfo | null; look: FileLook };
/** A heading that is neither text nor a file. */
export type HeaderObject = { kind: "location" | "product"; name: string };

/** How a message is drawn. Everything in it is text, whatever the sender wrote. */
export type Body =
  | { kind: "text"; text: string }
  | { kind: "file"; look: FileLook; file: FileInfo; caption: string | null; voice: boolean }
  | { kind: "location"; latitude: number; longitude: number; name: string | null; address: string | null }
  | { kind: "contacts"; cards: Card[] }
  | {
      kind: "choices";
      header: Header | null;
      text: string;
      footer: string | null;
      buttons: { title: string; url: string | null }[];
      list: { button: string; sections: Section[] } | null;
    }
  | { kind: "products"; text: string | null; catalog: string | null; sections: Section[] }
  | { kind: "template"; name: string; language: string; values: TemplateValues }
  | { kind: "order"; text: string | null; lines: OrderLine[] }
  | { kind: "poll"; question: string; options: string[]; multiple: boolean }
  | { kind: "reply"; title: string; description: string | null }
  | { kind: "event"; text: string }
  | { kind: "deleted" }
  | { kind: "unknown"; type: string; title: string | null; details: string | null; original: string };

export type TemplateValues = {
  variables: string[] | Record<string, string>;
  header: string | Header | HeaderObject | null;
  ends: string | null; // of an offer
  sections: Section[]; // products that a button opens
  cards: TemplateValues[];
};

const NO_VALUES: TemplateValues = { variables: [], header: null, ends: null, sections: [], cards: [] };
const FILES = new Set<string>(["image", "video", "audio", "document", "sticker"]);
/** These change another message, and are drawn there. */
const ABOUT_OTHERS = new Set(["reaction", "edit", "revoke"]);

/** Whether a message is a line of its own in the thread. */
export function isLine(message: Pick<Message, "type" | "about">): boolean {
  return !(ABOUT_OTHERS.has(message.type) && message.about !== null);
}

/** Decides how a message is drawn. What does not have the expected form is shown as unknown, never left out. */
export function readBody(message: Pick<Message, "type" | "content" | "deleted_at">): Body {
  if (message.deleted_at) return { kind: "deleted" };
  const content = message.content as Json;
  return READERS[message.type]?.(content, message.type) ?? unknown(message.type, content);
}

const READERS: Record<string, (content: Json, type: string) => Body | null> = {
  text: ({ body }) => (typeof body === "string" ? { kind: "text", text: body } : null),
  ...Object.fromEntries([...FILES].map((type) => [type, readFileBody])),
  location: (content) => {
    const { latitude, longitude, name, address } = object(content.location);
    if (typeof latitude !== "number" || typeof longitude !== "number") return null;
    return { kind: "location", latitude, longitude, name: text(name), address: text(address) };
  },
  contacts: (content) => {
    const cards = objects(content.contacts).map(readCard);
    return cards.length ? { kind: "contacts", cards } : null;
  },
  buttons: (content) => ({
    ...choices(content),
    buttons: objects(content.buttons).map(({ title }) => ({ title: text(title) ?? "", url: null })),
  }),
  cta_url: (content) => {
    const { text: title, url } = object(content.cta);
    return { ...choices(content), buttons: [{ title: text(title) ?? "", url: text(url) }] };
  },
  list: (content) => ({
    ...choices(content),
    list: { button: text(content.button) ?? "", sections: objects(content.sections).map(readSection) },
  }),
  product: (content) => {
    const { retailer_id, catalog_id } = object(content.product);
    const sections = [{ title: null, rows: [productRow(retailer_id)] }];
    return { kind: "products", text: text(content.body), catalog: text(catalog_id), sections };
  },
  product_list: (content) => ({
    kind: "products",
    text: text(content.body),
    catalog: text(content.catalog_id),
    sections: objects(content.sections).map(({ title, products }) => ({
      title: text(title),
      rows: list(products).map(productRow),
    })),
  }),
  catalog: (content) => ({ ...choices(content), buttons: [{ title: "View catalogue", url: null }] }),
  template: (content) => {
    const { name, language, variables, header, components } = object(content.template);
    if (typeof name !== "string") return null;
    const values = components
      ? readComponents(objects(components))
      : { ...NO_VALUES, variables: readVariables(variables), header: readTemplateHeader(header) };
    return { kind: "template", name, language: text(language) ?? "", values };
  },
  order: (content) => {
    const order = object(content.order);
    const lines = objects(order.items).map(({ retailer_id, quantity, price, currency }) => ({
      product: text(retailer_id) ?? "Product",
      quantity: Number(quantity) || 0,
      price: String(price ?? ""),
      currency: text(currency) ?? "",
    }));
    return lines.length ? { kind: "order", text: text(order.text), lines } : null;
  },
  poll: (content) => {
    const { question, options, multiple } = object(content.poll);
    if (typeof question !== "string") return null;
    return { kind: "poll", question, options: list(options).map(String), multiple: multiple === true };
  },
  poll_vote: (content) => {
    const options = list(object(content.poll).options).map(String);
    return { kind: "event", text: options.length ? `Voted for ${options.join(", ")}` : "Voted in a poll" };
  },
  button_reply: readReply,
  list_reply: readReply,
  flow_reply: (content) => {
    const { body, response } = object(content.reply);
    return { kind: "reply", title: text(body) || "Filled in a form", description: response ? plain(response) : null };
  },
  reaction: (content) => {
    const emoji = text(object(content.reaction).emoji);
    return { kind: "event", text: emoji ? `Reacted ${emoji} to a message` : "Took a reaction back" };
  },
  revoke: () => ({ kind: "event", text: "Deleted a message" }),
  edit: (content) => {
    const edit = object(content.edit);
    const body = text(object(edit.content).body);
    return { kind: "event", text: body ? `Edited a message: ${body}` : "Edited a message" };
  },
  system: (content) => ({ kind: "event", text: systemWords(object(content.system)) }),
};

function systemWords({ kind, body, phone }: Json): string {
  if (kind === "number_changed") return phone ? `Changed the phone number to +${phone}` : "Changed the phone number";
  if (kind === "identity_changed") return "The security code of this person has changed";
  return text(body) || "Something changed on the network";
}

function readFileBody(content: Json, type: string): Body {
  const media = object(content.media);
  return {
    kind: "file",
    look: type as FileLook,
    file: readFile(media, text(content.filename)),
    caption: text(content.caption),
    voice: content.voice === true,
  };
}

function readFile(media: Json, name: string | null): FileInfo {
  return {
    id: text(media.id),
    link: text(media.link),
    mime: text(media.mime_type),
    name: name ?? text(media.filename),
    size: typeof media.size === "number" ? media.size : null,
  };
}

function choices(content: Json): Extract<Body, { kind: "choices" }> {
  return {
    kind: "choices",
    header: readHeader(content.header),
    text: text(content.body) ?? "",
    footer: text(content.footer),
    buttons: [],
    list: null,
  };
}

function readHeader(value: unknown): Header | null {
  const header = object(value);
  const type = text(header.type);
  if (type === null) return null;
  if (type === "text") return { text: text(header.text), file: null, look: "document" };
  const look = FILES.has(type) ? (type as FileLook) : type === "gif" ? "video" : "document";
  return { text: null, file: readFile(object(header.media), text(header.filename)), look };
}

function readSection({ title, rows }: Json): Section {
  return {
    title: text(title),
    rows: objects(rows).map((row) => ({ title: text(row.title) ?? "", description: text(row.description) })),
  };
}

function productRow(id: unknown): Section["rows"][number] {
  return { title: text(id) ?? "Product", description: null };
}

function readCard(card: Json): Card {
  const name = text(object(card.name).formatted_name) || "Contact";
  const phones = objects(card.phones).map(({ phone, wa_id }) => text(phone) ?? text(wa_id) ?? "");
  const mails = objects(card.emails).map(({ email }) => text(email) ?? "");
  const places = objects(card.addresses).map(({ street, city, country }) =>
    [street, city, country].map(text).filter(Boolean).join(", "),
  );
  return {
    name,
    company: text(object(card.org).company),
    lines: [...phones, ...mails, ...places].filter(Boolean),
    urls: objects(card.urls).flatMap(({ url }) => text(url) ?? []),
  };
}

function readReply(content: Json): Body {
  const { title, id, description } = object(content.reply);
  return { kind: "reply", title: text(title) || text(id) || "", description: text(description) };
}

function readVariables(value: unknown): string[] | Record<string, string> {
  if (Array.isArray(value)) return value.map(String);
  return Object.fromEntries(Object.entries(object(value)).map(([name, one]) => [name, String(one)]));
}

/** The values of a template, or of one of its cards, in the network's own format. */
function readComponents(components: Json[]): TemplateValues {
  const by = (type: string) => components.find((one) => String(one.type).toLowerCase() === type);
  const body = objects(by("body")?.parameters);
  const words = body.map((one) => text(one.text) ?? text(object(one[String(one.type)]).fallback_value) ?? "");
  const named = body.map(({ parameter_name }, index) => [text(parameter_name), words[index] ?? ""] as const);
  return {
    variables: named.some(([name]) => name) ? Object.fromEntries(named) : words,
    header: readHeaderParameter(objects(by("header")?.parameters)[0]),
    ends: readEnd(objects(by("limited_time_offer")?.parameters)[0]),
    sections: components.flatMap(readProducts),
    cards: objects(by("carousel")?.cards).map((card) => readComponents(objects(card.components))),
  };
}

function readHeaderParameter(parameter: Json | undefined): TemplateValues["header"] {
  if (!parameter) return null;
  const type = String(parameter.type).toLowerCase();
  if (type === "text") return text(parameter.text);
  const part = object(parameter[type]);
  const ours = text(part.id)?.startsWith("med_"); // a file can have an id of the network, which opens nothing here
  const media = ours ? part : { ...part, id: null };
  return readTemplateHeader({ ...parameter, type, media, filename: part.filename });
}

function readTemplateHeader(value: unknown): TemplateValues["header"] {
  if (typeof value === "string") return value;
  const { type, location, product, ...others } = object(value);
  if (type === "text") return text(others.text);
  if (type === "location") return { kind: type, name: text(object(location).name) || "Location" };
  if (type === "product") {
    const { retailer_id, product_retailer_id } = object(product);
    return { kind: type, name: text(retailer_id) ?? text(product_retailer_id) ?? "Product" };
  }
  // A named variable is an object with its name, such as {"sale": "Summer"}.
  return readHeader(value) ?? text(Object.values(others)[0]);
}

function readEnd(parameter: Json | undefined): string | null {
  const { expiration_time_ms } = object(parameter?.limited_time_offer);
  const end = new Date(typeof expiration_time_ms === "number" ? expiration_time_ms : Number.NaN);
  return Number.isNaN(end.getTime()) ? null : end.toISOString();
}

function readProducts({ type, parameters }: Json): Section[] {
  if (String(type).toLowerCase() !== "button") return [];
  return objects(parameters)
    .flatMap(({ action }) => objects(object(action).sections))
    .map(({ title, product_items }) => ({
      title: text(title),
      rows: objects(product_items).map((item) => productRow(item.product_retailer_id)),
    }));
}

function unknown(type: string, content: Json): Body {
  const about = object(content.unsupported);
  return {
    kind: "unknown",
    type: text(about.type) ?? type,
    title: text(about.title),
    details: text(about.details),
    original: plain(content),
  };
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function objects(value: unknown): Json[] {
  return list(value).map(object);
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

const FILE_WORDS: Record<FileLook, string> = {
  image: "Picture",
  video: "Video",
  audio: "Audio",
  document: "Document",
  sticker: "Sticker",
};

/** A message in a few words, for the list of conversations and for quotes. */
export function inOneLine(message: Pick<Message, "type" | "content" | "deleted_at">): string {
  const body = readBody(message);
  switch (body.kind) {
    case "text":
    case "event":
      return body.text;
    case "file":
      return body.voice ? "Voice message" : body.caption || body.file.name || FILE_WORDS[body.look];
    case "location":
      return body.name ? `Location: ${body.name}` : "Location";
    case "contacts":
      return `Contact: ${body.cards.map(({ name }) => name).join(", ")}`;
    case "choices":
      return body.text || "Message with buttons";
    case "products":
      return body.text || "Products";
    case "template":
      return `Template: ${body.name}`;
    case "order":
      return body.lines.length === 1 ? "Order of one product" : `Order of ${body.lines.length} products`;
    case "poll":
      return `Poll: ${body.question}`;
    case "reply":
      return body.title;
    case "deleted":
      return "This message was deleted";
    case "unknown":
      return `Message of a type that Gatepost does not show: ${body.type}`;
  }
}
