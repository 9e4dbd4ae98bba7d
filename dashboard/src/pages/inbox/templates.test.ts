import { expect, test } from "vitest";
import { fill, isComplete, NO_INPUT, readTemplate, toContent } from "./templates";

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
  expect(toContent(TEMPLATE, shape, input, null)).toEqual({
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
  const content = toContent(TEMPLATE, shape, { ...NO_INPUT, header: "Summer", variables: { who: "Ana" } }, null);
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
  expect(toContent(TEMPLATE, shape("DOCUMENT"), { ...NO_INPUT, file }, "md_1").header).toEqual({
    type: "document",
    media: { id: "md_1" },
    filename: "bill.pdf",
  });
  const place = { ...NO_INPUT, latitude: "38,7", longitude: "-9.1", place: "Shop" };
  expect(isComplete(shape("LOCATION"), place)).toBe(true);
  expect(isComplete(shape("LOCATION"), { ...place, latitude: "91" })).toBe(false);
  expect(toContent(TEMPLATE, shape("LOCATION"), place, null).header).toEqual({
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
