"use strict";
// Makes the page out of /openapi.json. All text goes in as text, never as markup.

const METHODS = ["get", "post", "put", "patch", "delete"];
let reference = {};

function make(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

// Words with `code` between backticks.
function words(text) {
  return (text || "").split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
}

function follow(schema) {
  if (!schema || !schema.$ref) return schema || {};
  return schema.$ref.slice(2).split("/").reduce((inner, name) => inner[name], reference);
}

function kind(schema) {
  if (!schema) return "anything";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.type === "array") return `list of ${kind(schema.items)}`;
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  return schema.type || "anything";
}

function description(schema) {
  const notes = [schema.description || (schema.anyOf || []).map((one) => one.description || "").join(" ").trim()];
  if (schema.default !== undefined && schema.default !== null) notes.push(`Without it: ${JSON.stringify(schema.default)}.`);
  return notes.filter(Boolean).join(" ");
}

function table(title, heads, rows) {
  if (!rows.length) return null;
  const line = (tag, cells) => make("tr", {}, ...cells.map((cell) => make(tag, {}, ...[].concat(cell))));
  return make("section", {}, make("h4", {}, title),
    make("table", {}, make("thead", {}, line("th", heads)), make("tbody", {}, ...rows.map((row) => line("td", row)))));
}

function fields(schema) {
  const whole = follow(schema);
  const needed = new Set(whole.required || []);
  return Object.entries(whole.properties || {}).map(([name, field]) =>
    [[make("code", {}, name), needed.has(name) ? " required" : ""], kind(field), words(description(field))]);
}

function parameters(operation) {
  return operation.parameters.map((one) =>
    [[make("code", {}, one.name), one.required ? " required" : ""], one.in, kind(one.schema), words(one.description)]);
}

function answers(operation) {
  return Object.entries(operation.responses).map(([status, answer]) => [status, words(follow(answer).description)]);
}

function data(operation) {
  const good = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const body = good && (follow(good[1]).content || {})["application/json"];
  const inner = body && body.schema.properties && body.schema.properties.data;
  if (!inner) return null;
  const one = inner.items || inner;
  return table(inner.items ? "Data: a list of" : "Data", ["field", "type", ""], fields(one));
}

// Examples of the body by name: one of each kind, or just the one.
function kinds(operation) {
  const content = (operation.requestBody || { content: {} }).content["application/json"] || {};
  return content.examples || (content.example !== undefined ? { example: { summary: "", value: content.example } } : {});
}

// The example of an answer.
function shown(operation) {
  const good = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const body = good && (follow(good[1]).content || {})["application/json"];
  if (!body || body.example === undefined) return null;
  return make("section", {}, make("h4", {}, "An answer"), make("pre", {}, JSON.stringify(body.example, null, 2)));
}

// Puts another example into the field of the body.
function choice(operation, body) {
  const found = Object.entries(kinds(operation));
  if (found.length < 2) return null;
  const list = make("select", {}, ...found.map(([name, one]) => make("option", { value: name }, `${name}: ${one.summary}`)));
  list.addEventListener("change", () => { body.value = JSON.stringify(kinds(operation)[list.value].value, null, 2); });
  return make("label", {}, "example", list);
}

function example(operation) {
  const found = Object.values(kinds(operation));
  return found.length ? JSON.stringify(found[0].value, null, 2) : null;
}

// The scope that a key needs; null where no key is taken: the route is public, or for people who are signed in.
function keyScope(operation) {
  const key = operation.security.find((one) => one.bearer);
  return key ? key.bearer.join(", ") : null;
}

function sessionLines(operation) {
  const changes = operation.parameters.some((one) => one.name === "Gatepost-CSRF");
  return ["-b cookies.txt", ...(changes ? ['-H "Gatepost-CSRF: $CSRF"', '-H "Origin: $URL"'] : [])];
}

function access(operation) {
  const scope = keyScope(operation);
  if (scope !== null) return `scope ${scope}`;
  if (!operation.security.length) return "no key";
  const roles = operation.security.flatMap((one) => one.session);
  return roles.length ? `session, ${roles.join(", ")}` : "session";
}

function curl(path, method, operation) {
  const lines = [`curl -X ${method.toUpperCase()} "$URL${path}"`];
  if (keyScope(operation)) lines.push('-H "Authorization: Bearer $KEY"');
  else if (operation.security.length) lines.push(...sessionLines(operation));
  const body = example(operation);
  if (body) lines.push("-H 'Content-Type: application/json'", `-d '${body.replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n  ");
}

function address(path, operation, inputs) {
  let url = path;
  const query = new URLSearchParams();
  for (const one of operation.parameters) {
    const value = inputs.get(one.name) ? inputs.get(one.name).value : "";
    if (one.in === "path") url = url.replace(`{${one.name}}`, encodeURIComponent(value));
    if (one.in === "query" && value) query.set(one.name, value);
  }
  return query.size ? `${url}?${query}` : url;
}

async function ask(path, method, operation, inputs, body, out) {
  const headers = {};
  const key = document.getElementById("key").value.trim();
  if (keyScope(operation) && key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  out.textContent = "Asking …";
  try {
    const answer = await fetch(address(path, operation, inputs), { method: method.toUpperCase(), headers, credentials: "omit", body: body ? body.value : undefined });
    const text = await answer.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: shown as it came */ }
    out.textContent = `${answer.status} ${answer.statusText}\n\n${shown.slice(0, 20000)}`;
  } catch (problem) {
    out.textContent = `No answer: ${problem.message}`;
  }
}

function tryIt(path, method, operation) {
  if (operation.requestBody && example(operation) === null) return null;
  if (operation.security.length && keyScope(operation) === null) {
    return make("p", {}, "This route is for people who are signed in to the dashboard. Keys are refused.");
  }
  const inputs = new Map(operation.parameters.filter((one) => one.in !== "header").map((one) =>
    [one.name, make("input", { placeholder: one.example || "", required: Boolean(one.required) })]));
  const text = example(operation);
  const body = text === null ? null : make("textarea", { value: text, spellcheck: false });
  const out = make("pre", { hidden: true });
  out.setAttribute("aria-live", "polite");
  const form = make("form", { className: "try" },
    ...[...inputs].map(([name, input]) => make("label", {}, name, input)),
    body && choice(operation, body), body && make("label", {}, "body", body), make("button", {}, "Send it"), out);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    out.hidden = false;
    ask(path, method, operation, inputs, body, out);
  });
  return make("section", {}, make("h4", {}, "Try it"), form);
}

function detail(path, method, operation) {
  const body = operation.requestBody;
  const json = body && body.content["application/json"];
  return make("div", {}, make("p", {}, ...words(operation.description)),
    table("Parameters", ["name", "in", "type", ""], parameters(operation)),
    json ? table("Body", ["field", "type", ""], fields(json.schema)) : null,
    body && !json ? make("p", {}, `The body is a file: ${Object.keys(body.content).join(" or ")}.`) : null,
    make("h4", {}, "Example"), make("pre", {}, curl(path, method, operation)),
    data(operation), shown(operation), table("Answers", ["status", ""], answers(operation)), tryIt(path, method, operation));
}

function entry(path, method, operation) {
  const box = make("details", { id: operation.operationId },
    make("summary", {}, make("span", { className: `method ${method}` }, method.toUpperCase()), make("code", {}, path),
      make("span", {}, operation.summary), make("span", { className: "tag" }, access(operation))));
  box.dataset.words = `${method} ${path} ${operation.summary} ${operation.description}`.toLowerCase();
  box.addEventListener("toggle", () => {
    if (box.open && !box.querySelector("div")) box.append(detail(path, method, operation));
  });
  return box;
}

function show() {
  const main = document.getElementById("reference"), contents = document.getElementById("contents");
  document.getElementById("version").textContent = reference.info.version;
  document.getElementById("introduction").replaceChildren(...words(reference.info.description));
  main.replaceChildren();
  for (const { name } of reference.tags) {
    main.append(make("h2", {}, name));
    contents.append(make("strong", {}, name));
    for (const [path, methods] of Object.entries(reference.paths)) {
      for (const method of METHODS.filter((one) => methods[one] && methods[one].tags.includes(name))) {
        main.append(entry(path, method, methods[method]));
        contents.append(make("a", { href: `#${methods[method].operationId}` }, methods[method].summary));
      }
    }
  }
}

function openNamed() {
  const box = document.getElementById(location.hash.slice(1));
  if (box instanceof HTMLDetailsElement) {
    box.open = true;
    box.scrollIntoView();
  }
}

function find() {
  const wanted = document.getElementById("find").value.trim().toLowerCase();
  for (const box of document.querySelectorAll("details")) box.hidden = !box.dataset.words.includes(wanted);
}

async function start() {
  const main = document.getElementById("reference");
  try {
    reference = await (await fetch("/openapi.json")).json();
    show();
    openNamed();
  } catch (problem) {
    main.textContent = `The reference cannot be read: ${problem.message}`;
  }
}

document.getElementById("access").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("find").addEventListener("input", find);
window.addEventListener("hashchange", openNamed);
start();
