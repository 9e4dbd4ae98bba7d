import { expect, test } from "vitest";
import { editableFields, withTexts } from "./draftFields";

const labels = (message: Record<string, unknown>) => editableFields(message).map(({ label }) => label);

test("the texts of a message can be edited, and nothing else changes", () => {
  const message = {
    phone: "5511999990001",
    type: "image",
    media: { id: "med_1" },
    caption: "Bread",
    reply_to: "msg_1",
  };
  expect(labels(message)).toEqual(["Caption"]);
  expect(withTexts(message, ["Rye bread"])).toEqual({ ...message, caption: "Rye bread" });
  expect(message.caption).toBe("Bread");
});

test("the values of a template can be edited, by number or by name", () => {
  const numbered = { type: "template", template: { name: "a", language: "en", variables: ["Ana", "7"] } };
  expect(labels(numbered)).toEqual(["Value 1", "Value 2"]);
  expect(withTexts(numbered, ["Ben", "8"])).toEqual({
    type: "template",
    template: { name: "a", language: "en", variables: ["Ben", "8"] },
  });
  const named = { template: { name: "a", variables: { first: "Ana" } } };
  expect(labels(named)).toEqual(["Value first"]);
  expect(withTexts(named, ["Ben"])).toEqual({ template: { name: "a", variables: { first: "Ben" } } });
});

test("a message without a text cannot be edited", () => {
  expect(labels({ type: "location", location: { latitude: 1, longitude: 2 } })).toEqual([]);
  expect(labels({ type: "template", template: { name: "a", components: [] } })).toEqual([]);
});
