import { expect, test } from "vitest";
import { addField, changeBody, createBody, fieldProblem, formOf, NEW_CONTACT, titleOf } from "./form";
import type { Contact } from "./queries";

const ANA = {
  name: "Ana",
  phone: "5511999998888",
  opted_out: false,
  custom: { city: "Lisbon", size: "M" },
} as unknown as Contact;

test("a field that is gone from the form is removed, and a renamed one too", () => {
  const form = formOf(ANA);
  const [city] = form.fields;
  expect(city).toEqual({ key: 0, name: "city", value: "Lisbon" });
  const changed = { ...form, name: " ", fields: [{ key: 0, name: " town ", value: "Porto" }] };
  expect(changeBody(form, changed)).toEqual({ name: null, custom: { city: null, size: null, town: "Porto" } });
});

test("what was not edited is not sent: somebody else may have changed it", () => {
  const form = formOf(ANA);
  expect(changeBody(form, form)).toEqual({});
  expect(changeBody(form, { ...form, optedOut: true })).toEqual({ opted_out: true });
  const fields = form.fields.map((one) => (one.name === "size" ? { ...one, value: "L" } : one));
  expect(changeBody(form, { ...form, fields })).toEqual({ custom: { size: "L" } });
});

test("a new contact has a plain number and no empty fields", () => {
  const form = { ...NEW_CONTACT, phone: "+55 11 99999-8888", fields: addField(addField([])) };
  expect(form.fields.map(({ key }) => key)).toEqual([0, 1]);
  expect(createBody(form)).toEqual({ phone: "5511999998888", name: null, custom: {}, opted_out: false });
});

test("names of fields are needed, and differ", () => {
  const field = (key: number, name: string) => ({ key, name, value: "x" });
  expect(fieldProblem([field(0, "a"), field(1, "b")])).toBeNull();
  expect(fieldProblem([field(0, "a"), field(1, " a ")])).toContain("two fields");
  expect(fieldProblem([field(0, " ")])).toContain("name");
});

test("a contact without a name is called by its number", () => {
  expect(titleOf(ANA)).toBe("Ana");
  expect(titleOf({ name: null, phone: "55" })).toBe("+55");
  expect(titleOf({ name: null, phone: null, username: "ana.m" })).toBe("ana.m");
});
