// The control API: every request of this page goes through here.

/** Calls the control API; an error response becomes an Error with its text. */
export async function control(method, path, body) {
  const asked = { method, headers: {} };
  if (body !== undefined) {
    asked.headers["Content-Type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(`/control/${path}`, asked);
  } catch {
    throw new Error("The sandbox does not answer. Is it still running?");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error || `The sandbox answered ${answer.status}.`);
  return body;
}

/** An escaped path segment. */
export const part = encodeURIComponent;
