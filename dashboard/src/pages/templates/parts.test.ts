import { expect, test } from "vitest";
import {
  bubbleOf,
  bubbleOfPreview,
  componentsOf,
  fill,
  formOf,
  NEW_TEMPLATE,
  nextVariable,
  variablesOf,
} from "./parts";

const FORM = {
  ...NEW_TEMPLATE,
  name: "order_sent",
  header: "Order {{1}}",
  headerExample: "4711",
  body: "Hello {{1}}, your order {{2}} has left.",
  examples: { "1": "Ana", "2": "4711" },
  footer: "Thank you",
  buttons: [
    { key: 0, type: "URL" as const, text: "Track", value: "https://a.example/{{1}}", example: "https://a.example/7" },
    { key: 1, type: "COPY_CODE" as const, text: "", value: "SAVE10", example: "SAVE10" },
  ],
};

test("variables are found and filled in", () => {
  expect(variablesOf("{{1}} and {{ 2 }} and {{1}}")).toEqual(["1", "2"]);
  expect(fill("{{1}}, {{2}}", { "1": "$&" })).toBe("$&, {{2}}");
  expect(nextVariable("Hi {{1}} {{2}}")).toBe("{{3}}");
  expect(nextVariable("")).toBe("{{1}}");
});

test("a form survives the way to the network and back", () => {
  const components = componentsOf(FORM);
  expect(components.map(({ type }) => type)).toEqual(["HEADER", "BODY", "FOOTER", "BUTTONS"]);
  expect(components[1]).toMatchObject({ example: { body_text: [["Ana", "4711"]] } });
  expect(formOf({ ...FORM, components })).toEqual(FORM);
});

test("the bubble shows the examples", () => {
  expect(bubbleOf(componentsOf(FORM))).toEqual({
    header: "Order 4711",
    media: null,
    body: "Hello Ana, your order 4711 has left.",
    footer: "Thank you",
    buttons: ["Track", "Copy code"],
    more: [],
  });
});

test("the gateway's preview becomes the same bubble", () => {
  const preview = {
    header: { type: "text", text: "Order 4711" },
    body: "Hello Ana, your order 4711 has left.",
    footer: "Thank you",
    buttons: [
      { type: "URL", text: "Track" },
      { type: "COPY_CODE", text: null },
    ],
  };
  expect(bubbleOfPreview(preview)).toEqual(bubbleOf(componentsOf(FORM)));
  expect(bubbleOfPreview({ ...preview, header: { type: "image" } })).toMatchObject({ header: null, media: "IMAGE" });
});

test("a template with other parts is not edited here, but shown", () => {
  const image = {
    ...FORM,
    components: [
      { type: "header", format: "image" },
      { type: "body", text: "Hi" },
    ],
  };
  expect(formOf(image)).toBeNull();
  expect(bubbleOf(image.components)).toMatchObject({ media: "IMAGE", body: "Hi" });
  expect(formOf({ ...FORM, components: [{ type: "BODY", text: "Hi" }, { type: "CAROUSEL" }] })).toBeNull();
  expect(formOf({ ...FORM, components: componentsOf(FORM), parameter_format: "NAMED" })).toBeNull();
});
