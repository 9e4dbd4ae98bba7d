// Building the page from values. Text is always set as text, so that no message can inject HTML.

export const byId = (id) => document.getElementById(id);

/** An element with properties (attributes, or "onclick" and the like) and children; null children are left out. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A small button that does one thing, and tells when it cannot. */
export function act(label, doing, name = "") {
  return el("button", { type: "button", class: `small ${name}`, onclick: () => attempt(doing) }, label);
}

const shown = new WeakMap();

/** Fills a list again, but only when its values changed: what somebody is about to press must not move. */
export function fill(list, values, make, empty) {
  const state = JSON.stringify(values);
  if (shown.get(list) === state) return false;
  shown.set(list, state);
  list.replaceChildren(...(values.length ? values.map(make) : empty ? [el("li", { class: "empty" }, empty)] : []));
  return true;
}

/** Options of a choice, keeping what is chosen where it still is there. */
export function choices(select, options) {
  const state = JSON.stringify(options);
  if (shown.get(select) === state) return;
  shown.set(select, state);
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, label]) => el("option", { value }, label)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

/** What a form says, without what was left empty; numbers as numbers. */
export function said(form) {
  const values = {};
  for (const field of form.elements) {
    if (!field.name || field.value === "") continue;
    values[field.name] = field.type === "number" ? Number(field.value) : field.value;
  }
  return values;
}

/** Does something when a form is sent, and empties the form when it went well. */
export function onSubmit(form, doing, { keep = false } = {}) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      await doing(said(form));
      if (!keep) form.reset();
    });
  });
}

let fading = 0;

/** Says something for a while. */
export function notice(text, bad = false) {
  const place = byId("notice");
  place.textContent = text;
  place.setAttribute("class", bad ? "bad" : "");
  place.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { place.hidden = true; }, bad ? 8000 : 3000);
}

/** Tries something, and says what was wrong with it. */
export async function attempt(doing) {
  try {
    await doing();
    document.dispatchEvent(new Event("changed"));
  } catch (error) {
    notice(error.message, true);
  }
}
