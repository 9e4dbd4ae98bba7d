/** The control API of the sandbox that serves this page. */

export class ApiError extends Error {
  readonly status: number; // 0: the sandbox did not answer

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Sends a request to `/control/…` and returns its JSON; an error has the API's own text. */
export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  let response: Response;
  const init: RequestInit = { method, signal: signal ?? null };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "content-type": "application/json" };
  }
  try {
    response = await fetch(`/control/${path}`, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The sandbox does not answer. Is it still running?");
  }
  const text = await response.text();
  if (!response.ok) throw new ApiError(response.status, errorText(text) ?? `The sandbox answered ${response.status}.`);
  return (text ? JSON.parse(text) : null) as T;
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return call<T>("GET", path, undefined, signal);
}

export function post<T>(path: string, body: unknown = {}): Promise<T> {
  return call<T>("POST", path, body);
}

/** Builds a path from parts that may contain anything: each is encoded. */
export function path(strings: TemplateStringsArray, ...values: (string | number)[]): string {
  return strings.reduce((joined, text, at) => joined + encodeURIComponent(String(values[at - 1])) + text);
}

/** Returns what an error says to the person at the screen. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function errorText(text: string): string | null {
  try {
    const body = JSON.parse(text) as { error?: unknown };
    return typeof body.error === "string" ? body.error : null;
  } catch {
    return null;
  }
}
