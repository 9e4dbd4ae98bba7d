import { visibleName } from "../../shared/visibleName";
import type { Contact } from "./queries";

/** What the form of a contact holds. Custom fields have a number of their own, so that their names can be edited. */
export type ContactForm = { phone: string; name: string; optedOut: boolean; fields: CustomField[] };
export type CustomField = { key: number; name: string; value: string };

export const NEW_CONTACT: ContactForm = { phone: "", name: "", optedOut: false, fields: [] };

export function formOf(contact: Contact): ContactForm {
  return {
    phone: contact.phone ?? "",
    name: contact.name ?? "",
    optedOut: contact.opted_out,
    fields: Object.entries(contact.custom).map(([name, value], key) => ({ key, name, value })),
  };
}

export function addField(fields: CustomField[]): CustomField[] {
  return [...fields, { key: Math.max(-1, ...fields.map((one) => one.key)) + 1, name: "", value: "" }];
}

/** Says what is wrong with the names of the custom fields, which the API cannot see in an object. */
export function fieldProblem(fields: CustomField[]): string | null {
  const names = filled(fields).map(({ name }) => name.trim());
  if (names.includes("")) return "Give each field a name.";
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  return twice ? `There are two fields “${twice}”.` : null;
}

function filled(fields: CustomField[]): CustomField[] {
  return fields.filter(({ name, value }) => name.trim() || value.trim());
}

function customOf(fields: CustomField[]): Record<string, string | null> {
  return Object.fromEntries(filled(fields).map(({ name, value }) => [name.trim(), value.trim() || null]));
}

export function createBody(form: ContactForm) {
  const custom = Object.fromEntries(Object.entries(customOf(form.fields)).filter(([, value]) => value !== null));
  return {
    phone: form.phone.replace(/[\s+().-]/g, ""),
    name: form.name.trim() || null,
    custom,
    opted_out: form.optedOut,
  };
}

/** The change to a contact: only what was edited. Custom fields that are gone from the form are removed. */
export function changeBody(before: ContactForm, form: ContactForm) {
  const old = customOf(before.fields);
  const gone = Object.fromEntries(Object.keys(old).map((name) => [name, null]));
  const custom = Object.entries({ ...gone, ...customOf(form.fields) }).filter(([name, value]) => value !== old[name]);
  return {
    ...(form.name === before.name ? {} : { name: form.name.trim() || null }),
    ...(custom.length === 0 ? {} : { custom: Object.fromEntries(custom) }),
    ...(form.optedOut === before.optedOut ? {} : { opted_out: form.optedOut }),
  };
}

/** What a contact is called: by name, number or user name. */
export function titleOf(contact: { name?: string | null; phone: string | null; username?: string | null }): string {
  return visibleName(contact.name) || (contact.phone ? `+${contact.phone}` : contact.username || "Unknown person");
}
