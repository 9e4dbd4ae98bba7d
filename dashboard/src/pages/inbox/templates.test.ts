import { expect, test } from "vitest";
import { toContent } from "./templateRequest";
import { fill, isComplete, NO_INPUT, readTemplate } from "./templates";

const TEMPLATE = { name: "order", language: "en" };

test("a template names the values that it needs, and is filled in with them", () => {
  const components = [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}" },
    { type: "BODY", text: "Hello {{1}}, order {{2}} is on its way, {{1}}." },
    { type: "BUTTONS", buttons: [{ type: "URL", text: "Track", url: "https://x.example/{{1}}" }] },
  ];
  const shape = readTemplate({ components, parameter_format: "POSITIONAL" });
  expect(shape.variables).toEqual(["1", "2"]);
  expect(shape.need).toEqual({ kind: "text", variable: "1" });
  expect(fill(shape.body, ["Ana", "4711"])).toBe("Hello Ana, order 4711 is on its way, Ana.");
  expect(fill(shape.body, {})).toBe(shape.body);
  const input = { ...NO_INPUT, header: "7", variables: { "1": "Ana ", "2": "4711" }, buttons: { 0: "4711" } };
  expect(isComplete(shape, { ...input, buttons: {} })).toBe(false);
  expect(isComplete(shape, { ...input, header: " " })).toBe(false);
  expect(isComplete(shape, input)).toBe(true);
  expect(toContent(TEMPLATE, shape, input, new Map())).toEqual({
    ...TEMPLATE,
    variables: ["Ana", "4711"],
    header: "7",
    buttons: [{ index: 0, text: "4711" }],
  });
});

test("names are sent by name, also in the heading", () => {
  const components = [
    { type: "header", format: "text", text: "{{sale}} sale" },
    { type: "body", text: "For {{who}}" },
  ];
  const shape = readTemplate({ components, parameter_format: "named" });
  const content = toContent(TEMPLATE, shape, { ...NO_INPUT, header: "Summer", variables: { who: "Ana" } }, new Map());
  expect(content).toEqual({ ...TEMPLATE, variables: { who: "Ana" }, header: { sale: "Summer" } });
});

test("a heading can be a file or a place", () => {
  const shape = (format: string) =>
    readTemplate({
      components: [
        { type: "HEADER", format },
        { type: "BODY", text: "Hi" },
      ],
      parameter_format: "POSITIONAL",
    });
  const file = new File(["x"], "bill.pdf");
  expect(isComplete(shape("DOCUMENT"), NO_INPUT)).toBe(false);
  expect(toContent(TEMPLATE, shape("DOCUMENT"), { ...NO_INPUT, file }, new Map([[file, "med_1"]])).header).toEqual({
    type: "document",
    media: { id: "med_1" },
    filename: "bill.pdf",
  });
  const place = { ...NO_INPUT, latitude: "38,7", longitude: "-9.1", place: "Shop" };
  expect(isComplete(shape("LOCATION"), place)).toBe(true);
  expect(isComplete(shape("LOCATION"), { ...place, latitude: "91" })).toBe(false);
  expect(toContent(TEMPLATE, shape("LOCATION"), place, new Map()).header).toEqual({
    type: "location",
    location: { latitude: 38.7, longitude: -9.1, name: "Shop" },
  });
});

test("a code is asked for where the network writes the text", () => {
  const components = [{ type: "BODY" }, { type: "BUTTONS", buttons: [{ type: "OTP", text: "Copy" }] }];
  const shape = readTemplate({ components, parameter_format: "POSITIONAL", category: "AUTHENTICATION" });
  expect(shape.variables).toEqual(["1"]);
  expect(shape.buttonFields).toMatchObject([{ index: 0, field: "text" }]);
});

const card = {
  components: [
    { type: "HEADER", format: "IMAGE" },
    { type: "BODY", text: "For {{1}}" },
    { type: "BUTTONS", buttons: [{ type: "URL", text: "Open", url: "https://x.example/{{1}}" }] },
  ],
};

test("each card of a carousel has its own file, text and buttons", () => {
  const components = [
    { type: "BODY", text: "Hello {{1}}" },
    { type: "CAROUSEL", cards: [card, card] },
  ];
  const shape = readTemplate({ components, parameter_format: "POSITIONAL" });
  const [one, two] = [new File(["1"], "1.png"), new File(["2"], "2.png")];
  const filled = (file: File | null, who: string) => ({
    ...NO_INPUT,
    file,
    variables: { "1": who },
    buttons: { 0: who },
  });
  const input = { ...NO_INPUT, variables: { "1": "Bia" }, cards: [filled(one, "Ana"), filled(two, "Eva")] };
  expect(isComplete(shape, input)).toBe(true);
  expect(isComplete(shape, { ...input, cards: [filled(one, "Ana"), filled(null, "Eva")] })).toBe(false);
  expect(isComplete(shape, { ...input, cards: [filled(one, "Ana")] })).toBe(false);
  const parts = (id: string, text: string) => [
    { type: "header", parameters: [{ type: "image", image: { id } }] },
    { type: "body", parameters: [{ type: "text", text }] },
    { type: "button", sub_type: "url", index: "0", parameters: [{ type: "text", text }] },
  ];
  const uploaded = new Map([
    [one, "med_1"],
    [two, "med_2"],
  ]);
  expect(toContent(TEMPLATE, shape, input, uploaded)).toEqual({
    ...TEMPLATE,
    components: [
      { type: "body", parameters: [{ type: "text", text: "Bia" }] },
      {
        type: "carousel",
        cards: [
          { card_index: 0, components: parts("med_1", "Ana") },
          { card_index: 1, components: parts("med_2", "Eva") },
        ],
      },
    ],
  });
});

test("an offer that ends needs its end, and its code", () => {
  const components = [
    { type: "LIMITED_TIME_OFFER", limited_time_offer: { text: "Sale", has_expiration: true } },
    { type: "BODY", text: "For {{who}}" },
    { type: "BUTTONS", buttons: [{ type: "COPY_CODE", example: "X" }] },
  ];
  const shape = readTemplate({ components, parameter_format: "NAMED" });
  expect(shape.buttons).toEqual(["Copy code"]); // the network writes this text
  const input = { ...NO_INPUT, variables: { who: "Ana" }, buttons: { 0: "25OFF" }, ends: "2026-12-01T10:00" };
  expect(isComplete(shape, { ...input, ends: "" })).toBe(false);
  expect(isComplete(shape, input)).toBe(true);
  const end = { expiration_time_ms: new Date("2026-12-01T10:00").getTime() };
  expect(toContent(TEMPLATE, shape, input, new Map()).components).toEqual([
    { type: "body", parameters: [{ type: "text", text: "Ana", parameter_name: "who" }] },
    { type: "limited_time_offer", parameters: [{ type: "limited_time_offer", limited_time_offer: end }] },
    {
      type: "button",
      sub_type: "copy_code",
      index: "0",
      parameters: [{ type: "coupon_code", coupon_code: "25OFF" }],
    },
  ]);
});

test("a button for products has lists of them, and one for the catalogue may have a picture", () => {
  const withButton = (type: string) => [
    { type: "BODY", text: "Hi" },
    { type: "BUTTONS", buttons: [{ type, text: "Open" }] },
  ];
  const list = readTemplate({ components: withButton("MPM"), parameter_format: "POSITIONAL" });
  const sections = [
    { title: "Bread", products: "rye\n wheat \n" },
    { title: "Cake", products: "apple" },
  ];
  expect(isComplete(list, NO_INPUT)).toBe(false);
  expect(isComplete(list, { ...NO_INPUT, sections: [{ title: "", products: "rye" }] })).toBe(true);
  expect(isComplete(list, { ...NO_INPUT, sections: [...sections, { title: "", products: "x" }] })).toBe(false);
  const items = (...ids: string[]) => ids.map((product_retailer_id) => ({ product_retailer_id }));
  expect(toContent(TEMPLATE, list, { ...NO_INPUT, sections }, new Map()).components).toEqual([
    {
      type: "button",
      sub_type: "mpm",
      index: "0",
      parameters: [
        {
          type: "action",
          action: {
            thumbnail_product_retailer_id: "rye",
            sections: [
              { title: "Bread", product_items: items("rye", "wheat") },
              { title: "Cake", product_items: items("apple") },
            ],
          },
        },
      ],
    },
  ]);
  const catalog = readTemplate({ components: withButton("CATALOG"), parameter_format: "POSITIONAL" });
  expect(isComplete(catalog, NO_INPUT)).toBe(true);
  expect(toContent(TEMPLATE, catalog, NO_INPUT, new Map())).toEqual(TEMPLATE);
  expect(toContent(TEMPLATE, catalog, { ...NO_INPUT, buttons: { 0: "rye" } }, new Map()).components).toMatchObject([
    { sub_type: "catalog", parameters: [{ action: { thumbnail_product_retailer_id: "rye" } }] },
  ]);
});
