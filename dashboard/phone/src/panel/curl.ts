/** The `curl` line of a request to the control API. */

export interface Request {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string; // below /control/, with what it contains encoded
  body?: unknown;
}

/** Returns the line that does in a shell what the page does by the request. */
export function curlOf(request: Request, origin: string): string {
  const words = ["curl"];
  if (request.method !== "GET") words.push("-X", request.method);
  words.push(quote(`${origin}/control/${request.path}`));
  if (request.body !== undefined) {
    words.push("-H", quote("content-type: application/json"), "-d", quote(JSON.stringify(request.body)));
  }
  return words.join(" ");
}

/** Returns a word for a POSIX shell: in single quotes, unless nothing in it is special. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
