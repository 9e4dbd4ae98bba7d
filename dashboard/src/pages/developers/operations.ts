/** What the console needs of the OpenAPI document. */

export type Parameter = {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description: string;
  choices: string[];
  example: string;
};

export type Operation = {
  id: string; // "POST /api/v1/message/send"
  method: string;
  path: string;
  group: string;
  summary: string;
  description: string;
  parameters: Parameter[];
  body: string | null; // an example; null: none
  needs: string[][]; // scopes or roles of a session, one of the lists
};

type Json = Record<string, unknown>;

const METHODS = ["get", "post", "put", "patch", "delete"];
const OWN = ["Gatepost-Channel", "Gatepost-CSRF"]; // headers that the console sets itself

const record = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The operations of programs that a page can send too: without uploads and endless answers. */
export function readOperations(document: unknown): Operation[] {
  return Object.entries(record(record(document).paths)).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const spec = record(record(methods)[method]);
      const security = list(spec.security).map(record);
      if (!security.some((one) => "bearer" in one) || !isPlain(spec)) return [];
      const needs = security.filter((one) => "session" in one).map((one) => list(one.session).map(String));
      return [readOperation(path, method, spec, needs)];
    }),
  );
}

/** Whether a request has a JSON body or none, and its answer an end. */
function isPlain(spec: Json): boolean {
  const body = Object.keys(record(record(spec.requestBody).content));
  const answers = Object.values(record(spec.responses)).flatMap((one) => Object.keys(record(record(one).content)));
  return body.every((kind) => kind === "application/json") && !answers.includes("text/event-stream");
}

function readOperation(path: string, method: string, spec: Json, needs: string[][]): Operation {
  const content = record(record(record(spec.requestBody).content)["application/json"]);
  return {
    id: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    group: text(list(spec.tags)[0]),
    summary: text(spec.summary),
    description: text(spec.description),
    parameters: list(spec.parameters)
      .map(record)
      .filter(({ name }) => !OWN.includes(text(name)) && name !== "channel")
      .map(readParameter),
    body: Object.keys(content).length ? JSON.stringify(exampleOf(content), null, 2) : null,
    needs,
  };
}

function readParameter(spec: Json): Parameter {
  const schema = record(spec.schema);
  return {
    name: text(spec.name),
    in: spec.in as Parameter["in"],
    required: spec.required === true,
    description: text(spec.description),
    choices: list(schema.enum).map(String),
    example: spec.in === "path" ? "" : String(schema.default ?? ""),
  };
}

/** The example of a body: its own, or the first of several. */
function exampleOf(content: Json): unknown {
  if (content.example !== undefined) return content.example;
  const first = record(Object.values(record(content.examples))[0]);
  return first.value ?? {};
}

/** Whether a person may send an operation: the person has the scopes, or the role. */
export function mayCall({ needs }: Pick<Operation, "needs">, scopes: string[], role: string): boolean {
  return needs.some((list) => list.every((need) => scopes.includes(need) || need === role));
}

export type Values = Record<string, string>;
export type Prepared = { path: string; headers: Record<string, string> } | { missing: string[] };

/** The address and headers of a request with these values; or which required ones are missing. */
export function prepare(operation: Operation, values: Values): Prepared {
  const missing = operation.parameters.filter(({ name, required }) => required && !values[name]?.trim());
  if (missing.length) return { missing: missing.map(({ name }) => name) };
  let path = operation.path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const { name, in: place } of operation.parameters) {
    const value = values[name]?.trim();
    if (!value) continue;
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (place === "query") query.set(name, value);
    else headers[name] = value;
  }
  const words = query.toString();
  return { path: words ? `${path}?${words}` : path, headers };
}
