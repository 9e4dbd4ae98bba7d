// Numbers, phones with their sessions, and people.

import { act, byId, choices, el, fill, notice, onSubmit } from "/page/dom.js";
import { control, part } from "/page/api.js";

const CHARACTERS = ["normal", "quick", "slow", "in_chat", "silent", "offline", "absent", "blocked"];
const REGISTERED = ["phone_number_id", "phone", "name", "status", "quality_rating", "callback_url"];

export function begin() {
  onSubmit(byId("number-new"), async (number) => {
    await control("POST", "numbers", number);
    notice(`The number ${number.phone} is registered.`);
  });
  choices(byId("person-new").elements.character, CHARACTERS.map((name) => [name, name]));
  onSubmit(byId("person-new"), ({ phone, reply, ...person }) =>
    control("PUT", `people/${part(phone)}`, { ...person, replies: reply ? [{ text: reply }] : [] }));
}

export function showNumbers(numbers) {
  const shown = numbers.map((number) => Object.fromEntries(REGISTERED.map((name) => [name, number[name]])));
  fill(byId("number-list"), shown, (number) => el("li", {},
    el("span", { class: "grow" }, `${number.name} · ${number.phone} · id ${number.phone_number_id}`),
    el("span", { class: "tag" }, number.status),
    el("span", { class: "tag" }, number.quality_rating),
    el("span", { class: "muted" }, number.callback_url || "no callback address")),
  "No number is registered. Register one below, or let your program do it with POST /control/numbers.");
}

export function showPhones(phones, sessions) {
  const waiting = sessions.map(({ session, phone, state, reason, code, pairing_code: typed }) =>
    ({ session, phone, state, reason, code: Boolean(code), typed }));
  fill(byId("session-list"), waiting, (one) => el("li", {},
    el("span", { class: "grow" }, `Session ${one.session}${one.phone ? ` of ${one.phone}` : ""}`),
    el("span", { class: "tag" }, `${one.state}: ${one.reason}`),
    one.typed ? el("span", { class: "tag" }, `pairing code ${one.typed}`) : null,
    one.code ? scanForm(one.session) : null),
  "No session yet. It begins when a program opens a link at /qr/link; a code to scan then shows up here.");
  fill(byId("phone-list"), phones, (phone) => el("li", {},
    el("span", { class: "grow" }, `${phone.name || "Phone"} · ${phone.phone}`),
    phone.banned ? el("span", { class: "tag" }, "banned") : null,
    phone.locked_until ? el("span", { class: "tag" }, "time-locked") : null,
    phone.sessions.length ? act("Drop the link", () => control("POST", `phones/${part(phone.phone)}/drop`, { seconds: 5 })) : null,
    phone.sessions.length ? act("Log out", () => control("POST", `phones/${part(phone.phone)}/logout`), "danger") : null));
}

function scanForm(session) {
  const form = el("form", { class: "row" },
    el("label", {}, "Scan with ", el("input", {
      name: "phone", pattern: "[0-9]{7,15}", placeholder: "15550002222", inputmode: "numeric", required: true,
    })),
    el("button", {}, "Scan"));
  onSubmit(form, ({ phone }) => control("POST", `phones/${part(phone)}/scan`, { session }));
  return form;
}

export function showPeople(people) {
  fill(byId("people-list"), people, (person) => el("li", {},
    el("span", { class: "grow" }, `${person.name} · ${person.phone}`),
    person.replies.length ? el("span", { class: "tag" }, `a script of ${person.replies.length}`) : null,
    character(person),
    act("Forget", () => control("DELETE", `people/${part(person.phone)}`), "danger")),
  "Nobody was introduced. Everybody with a number is a stranger who reads and says nothing; introduce somebody to change that.");
}

function character(person) {
  const select = el("select", { "aria-label": `Character of ${person.name}` });
  choices(select, CHARACTERS.map((name) => [name, name]));
  select.value = person.character;
  select.addEventListener("change", () => change(person, select.value));
  return select;
}

async function change(person, character) {
  try {
    await control("PUT", `people/${part(person.phone)}`, { ...person, character });
    notice(`${person.name} is ${character} now.`);
  } catch (error) {
    notice(error.message, true);
  }
}
