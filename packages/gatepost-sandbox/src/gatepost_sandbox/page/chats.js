// Acting as a person: the chats of a number, their messages, and replies.

import { act, attempt, byId, choices, el, fill, onSubmit } from "/page/dom.js";
import { messagesOf, peopleOf } from "/page/history.js";
import { look } from "/page/message.js";
import { speaker } from "/page/send.js";

const EMOJI = ["👍", "❤️", "😂", "😮", "🙏"];
const chosen = { number: "", person: "" };
let known = { numbers: [], people: [], templates: [] };

export function begin() {
  byId("chat-number").addEventListener("change", (event) => {
    chosen.number = event.target.value;
    chosen.person = "";
    show(known);
  });
  onSubmit(byId("chat-new"), ({ phone }) => open(phone));
  onSubmit(byId("chat-say"), ({ text }) => me().text(text));
  onSubmit(byId("chat-order").querySelector("form"), (cart) => me().order({ catalog: "", ...cart }), { keep: true });
  byId("chat-file").addEventListener("change", (event) => attempt(async () => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) await me().file(file);
  }));
}

/** Shows the chats with what is known now: {numbers: [{id, label, qr}], people, templates}. */
export function show(news) {
  known = news;
  choices(byId("chat-number"), known.numbers.map((one) => [one.id, one.label]));
  if (!known.numbers.some((one) => one.id === chosen.number)) chosen.number = known.numbers[0]?.id || "";
  byId("chat-number").value = chosen.number;
  showPeople();
  showThread();
}

function showPeople() {
  const talked = peopleOf(chosen.number).map((chat) => chat.person);
  const phones = [...new Set([...talked, ...known.people.map((one) => one.phone), chosen.person])].filter(Boolean);
  if (!chosen.person) chosen.person = phones[0] || "";
  const rows = phones.map((phone) => ({ phone, name: nameOf(phone), current: phone === chosen.person }));
  const empty = known.numbers.length
    ? "Nobody has talked with this number yet. Send somebody a message from your program, or be somebody below."
    : "There is no number yet. Register one under Numbers.";
  fill(byId("chat-list"), rows, (row) => el("li", {}, el("button", {
    type: "button", "aria-current": row.current ? "true" : null, onclick: () => open(row.phone),
  }, row.name ? `${row.name} · ${row.phone}` : row.phone)), empty);
}

function showThread() {
  const ready = Boolean(chosen.number && chosen.person);
  byId("chat-title").textContent = ready ? `You are ${nameOf(chosen.person) || chosen.person}` : "Nobody yet";
  byId("chat-say").hidden = byId("chat-order").hidden = !ready;
  const list = byId("chat-messages");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
  const messages = messagesOf(chosen.number, chosen.person).map((entry) => ({ entry, seen: look(entry, known.templates) }));
  const changed = fill(list, messages, bubble, ready ? "No messages yet. Say something." : "Choose somebody, or be somebody new.");
  if (changed && atEnd) list.scrollTop = list.scrollHeight;
}

function bubble({ entry, seen }) {
  const mine = entry.kind === "incoming";
  const time = new Date(entry.at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return el("li", { class: mine ? "mine" : entry.kind === "refused" ? "refused" : "theirs" },
    seen.text,
    mine || entry.kind === "refused" ? null : answers(entry, seen),
    el("small", {}, `${time} ${entry.state}`));
}

function answers(entry, seen) {
  const id = entry.wamid;
  return el("div", { class: "choices" },
    ...seen.buttons.map((button) => act(button.title, () => me().tap(id, button))),
    ...seen.rows.map((row) => act(row.title, () => me().pick(id, row))),
    seen.products.length ? act("🛒 Order this", () => fillOrder(seen)) : null,
    entry.type === "reaction" ? null : reactions(id));
}

function reactions(id) {
  return el("details", {}, el("summary", {}, "React"), ...EMOJI.map((emoji) => act(emoji, () => me().react(id, emoji))));
}

function fillOrder(seen) {
  const place = byId("chat-order");
  const form = place.querySelector("form");
  form.elements.product.value = seen.products[0];
  form.elements.catalog.value = seen.catalog || "catalog";
  place.open = true;
  form.elements.product.focus();
}

function open(phone) {
  chosen.person = phone;
  show(known);
}

function me() {
  const number = known.numbers.find((one) => one.id === chosen.number);
  if (!number || !chosen.person) throw new Error("Choose a number and a person first.");
  return speaker(number, chosen.person);
}

const nameOf = (phone) => known.people.find((one) => one.phone === phone)?.name || "";
