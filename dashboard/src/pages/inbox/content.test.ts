import { expect, test } from "vitest";
import { inOneLine, isLine, readBody } from "./content";

const message = (type: string, content: Record<string, unknown>) => ({ type, content, deleted_at: null });

test("every type has a body of its own, and none throws on an empty content", () => {
  const types = (
    "text image video audio document sticker location contacts buttons list cta_url product product_list catalog " +
    "template order poll poll_vote button_reply list_reply flow_reply reaction revoke edit system unsupported new_type"
  ).split(" ");
  for (const type of types) {
    expect(readBody(message(type, {})).kind).toBeTruthy();
    expect(inOneLine(message(type, {}))).toBeTypeOf("string");
  }
});

test("a type that is not known is shown as such, with what came", () => {
  const body = readBody(message("hologram", { depth: 3 }));
  expect(body).toEqual({
    kind: "unknown",
    type: "hologram",
    title: null,
    details: null,
    original: '{\n  "depth": 3\n}',
  });
  expect(inOneLine(message("text", { body: 7 }))).toContain("does not show: text");
});

test("a deleted message shows nothing of what it said", () => {
  const deleted = { ...message("text", { body: "secret" }), deleted_at: "2026-11-15T10:00:00Z" };
  expect(readBody(deleted)).toEqual({ kind: "deleted" });
  expect(inOneLine(deleted)).not.toContain("secret");
});

test("a voice message is told apart from other sounds", () => {
  expect(inOneLine(message("audio", { voice: true, media: { id: "med_1" } }))).toBe("Voice message");
  expect(inOneLine(message("audio", { media: { id: "med_1" } }))).toBe("Audio");
});

test("a template shows the values that were given in the network's own format", () => {
  const parameters = [{ type: "text", text: "Ana" }];
  const picture = { type: "header", parameters: [{ type: "image", image: { id: "med_1" } }] };
  const foreign = { type: "header", parameters: [{ type: "image", image: { id: "1234" } }] };
  const named = { type: "body", parameters: [{ type: "text", text: "Eva", parameter_name: "who" }] };
  const cards = [{ components: [picture, named] }, { components: [foreign] }];
  const components = [
    { type: "BODY", parameters },
    { type: "carousel", cards },
  ];
  const body = readBody(message("template", { template: { name: "sale", language: "en", components } }));
  expect(body).toMatchObject({
    values: {
      variables: ["Ana"],
      header: null,
      cards: [
        { variables: { who: "Eva" }, header: { look: "image", file: { id: "med_1" } } },
        { header: { file: { id: null } } },
      ],
    },
  });
});

const templateValues = (template: Record<string, unknown>) =>
  readBody(message("template", { template: { name: "sale", language: "en", ...template } }));

test("a template shows the end of its offer and its products", () => {
  const end = { type: "limited_time_offer", limited_time_offer: { expiration_time_ms: Date.UTC(2026, 11, 1) } };
  const sections = [{ title: "Bread", product_items: [{ product_retailer_id: "rye" }, {}] }, null];
  const components = [
    { type: "LIMITED_TIME_OFFER", parameters: [end] },
    { type: "button", sub_type: "mpm", index: "0", parameters: [{ type: "action", action: { sections } }] },
    { type: "button", sub_type: "url", index: "1", parameters: [{ type: "text", text: "x" }] },
  ];
  const row = (title: string) => ({ title, description: null });
  expect(templateValues({ components })).toMatchObject({
    values: {
      ends: "2026-12-01T00:00:00.000Z",
      sections: [
        { title: "Bread", rows: [row("rye"), row("Product")] },
        { title: null, rows: [] },
      ],
    },
  });
  const wrong = { ...end, limited_time_offer: { expiration_time_ms: 1e300 } };
  const odd = [{ type: "limited_time_offer", parameters: [wrong] }];
  expect(templateValues({ components: odd })).toMatchObject({ values: { ends: null, sections: [] } });
});

test("the heading of a template can be a product, a place or a named value", () => {
  const given = (header: unknown) => templateValues({ header });
  const sent = (parameter: unknown) => templateValues({ components: [{ type: "header", parameters: [parameter] }] });
  const product = { kind: "product", name: "rye" };
  expect(given({ type: "product", product: { catalog_id: "7", retailer_id: "rye" } })).toMatchObject({
    values: { header: product },
  });
  expect(sent({ type: "product", product: { catalog_id: "7", product_retailer_id: "rye" } })).toMatchObject({
    values: { header: product },
  });
  const location = { latitude: 1, longitude: 2, name: "Shop" };
  for (const body of [given, sent].map((read) => read({ type: "location", location }))) {
    expect(body).toMatchObject({ values: { header: { kind: "location", name: "Shop" } } });
  }
  for (const header of [{ sale: "Summer" }, { type: "text", text: "Summer" }]) {
    expect(given(header)).toMatchObject({ values: { header: "Summer" } });
  }
  expect(sent({ type: "gif", gif: { id: "med_1" } })).toMatchObject({
    values: { header: { look: "video", file: { id: "med_1" } } },
  });
});

test("a reaction is drawn on its message, and as a line only if that is not known", () => {
  expect(isLine({ type: "reaction", about: "01A1" })).toBe(false);
  expect(isLine({ type: "reaction", about: null })).toBe(true);
  expect(isLine({ type: "text", about: null })).toBe(true);
});
