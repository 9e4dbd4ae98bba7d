export type FieldProblem = { field: string; message: string };

/** An error answer of the gateway, in its own words. */
export class ApiProblem extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly fields: FieldProblem[] = [],
    readonly retryAfter: number | null = null,
    readonly requestId: string | null = null,
  ) {
    super(message);
  }

  /** What is wrong with one field of the request, if anything. */
  field(name: string): string | undefined {
    const inside = [`${name}.`, `${name}[`]; // a part of it, or an item
    const found = this.fields.find(({ field }) => field === name || inside.some((start) => field.startsWith(start)));
    return found?.message;
  }
}

/** The gateway did not answer at all, or a proxy answered for it. */
export class GatewayUnreachable extends Error {
  constructor() {
    super("The gateway does not answer. Check your connection, then try again.");
  }
}

type ErrorEnvelope = {
  message?: string;
  error?: { code?: string; fields?: FieldProblem[]; request_id?: string };
};

/** What to say about an answer that is not of the gateway, but of a proxy in front of it. */
function wordsOf(status: number): string {
  if (status === 413) return "A proxy in front of the gateway does not take so much at once. Ask the operator.";
  if (status === 429) return "A proxy in front of the gateway asks to wait. Try again in a minute.";
  return `A proxy in front of the gateway answered ${status}. Ask the operator.`;
}

/** Turns an answer that is not a success into an error. */
export function readProblem(response: Response, body: unknown): Error {
  const envelope = (typeof body === "object" && body !== null ? body : {}) as ErrorEnvelope;
  if (!envelope.error?.code) {
    if (response.status >= 500) return new GatewayUnreachable();
    return new ApiProblem(wordsOf(response.status), response.status, "unknown");
  }
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new ApiProblem(
    envelope.message ?? "Something went wrong.",
    response.status,
    envelope.error.code,
    envelope.error.fields ?? [],
    Number.isNaN(wait) ? null : wait,
    envelope.error.request_id ?? response.headers.get("X-Request-Id"),
  );
}

export function isProblem(error: unknown, code: string): error is ApiProblem {
  return error instanceof ApiProblem && error.code === code;
}

/** The words for an error that is shown to a person. */
export function inWords(error: unknown): string {
  return error instanceof Error ? error.message : "Something went wrong.";
}
