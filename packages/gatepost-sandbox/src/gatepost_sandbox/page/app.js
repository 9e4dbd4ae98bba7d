// The page: its sections, and the refresh every second.

import * as chats from "/page/chats.js";
import { attempt, byId, notice } from "/page/dom.js";
import { control } from "/page/api.js";
import * as faults from "/page/faults.js";
import { readOn } from "/page/history.js";
import * as places from "/page/lists.js";

const LOOK_EVERY = 1000;
const TABS = ["chats", "numbers", "people", "faults", "templates"];
let looking = false;
let again = false;
let frozen = false;
let silent = false;

function open(tab) {
  for (const name of TABS) byId(name).hidden = name !== tab;
  for (const button of document.querySelectorAll("[data-tab]")) {
    if (button.dataset.tab === tab) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  if (location.hash !== `#${tab}`) history.replaceState(null, "", `#${tab}`);
}

function showClock(clock) {
  frozen = clock.frozen;
  byId("clock-now").textContent = `${new Date(clock.now * 1000).toLocaleString()}${frozen ? " ❄" : ""}`;
  byId("clock-freeze").textContent = frozen ? "Let it run" : "Freeze";
}

async function lookAround() {
  const asked = ["clock", "numbers", "phones", "sessions", "people", "faults", "templates"];
  const [clock, numbers, phones, sessions, people, rules, templates] =
    await Promise.all(asked.map((path) => control("GET", path)));
  await readOn();
  const both = [
    ...numbers.map((one) => ({ id: one.phone_number_id, label: `${one.name} · ${one.phone}`, qr: false })),
    ...phones.map((one) => ({ id: one.phone, label: `QR phone ${one.phone}`, qr: true })),
  ];
  showClock(clock);
  chats.show({ numbers: both, people, templates });
  places.showNumbers(numbers);
  places.showPhones(phones, sessions);
  places.showPeople(people);
  faults.showFaults(rules, both);
  faults.showTemplates(templates);
}

/** Looks around; what changes meanwhile makes it look once more. */
async function look() {
  if (looking) {
    again = true;
    return;
  }
  looking = true;
  try {
    await lookAround();
    silent = false;
  } catch (error) {
    if (!silent) notice(error.message, true);
    silent = true;
  }
  looking = false;
  if (again) {
    again = false;
    look();
  }
}

chats.begin();
places.begin();
faults.begin();
for (const button of document.querySelectorAll("[data-tab]")) {
  button.addEventListener("click", () => open(button.dataset.tab));
}
for (const button of document.querySelectorAll("[data-advance]")) {
  button.addEventListener("click", () => attempt(() =>
    control("POST", "clock", { advance: Number(button.dataset.advance) })));
}
byId("clock-freeze").addEventListener("click", () => attempt(() => control("POST", "clock", { frozen: !frozen })));
document.addEventListener("changed", look);
open(TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "chats");
look();
setInterval(() => { if (!document.hidden) look(); }, LOOK_EVERY);
