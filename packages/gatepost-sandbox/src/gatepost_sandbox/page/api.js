// The control door: every request of this page goes through here.

/** Asks the sandbox; a refusal is an error with its words. */
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
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error || `The sandbox answered ${answer.status}.`);
  return told;
}

/** A piece of a path. */
export const part = encodeURIComponent;
