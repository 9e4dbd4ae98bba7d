/** What the panel did: each request with its curl line and its outcome. */

import { signal } from "@preact/signals";
import { ApiError, call, messageOf } from "../shared/api";
import { refresh } from "../shared/resources";
import { curlOf, type Request } from "./curl";

export interface Done {
  id: number;
  curl: string;
  outcome: string; // "200", or what went wrong
  failed: boolean;
}

const KEPT = 20;
let serial = 0;

export const done = signal<readonly Done[]>([]); // the latest first

/** Returns the line for this page's sandbox. */
export function curlHere(request: Request): string {
  return curlOf(request, location.origin);
}

/** Sends a request, notes it, and reads again what it changed. */
export async function perform<T = unknown>(request: Request, changes: readonly string[]): Promise<T> {
  try {
    const answer = await call<T>(request.method, request.path, request.body);
    note(request, "done", false);
    for (const what of changes) refresh(what);
    return answer;
  } catch (error) {
    note(request, error instanceof ApiError && error.status ? String(error.status) : messageOf(error), true);
    throw error;
  }
}

function note(request: Request, outcome: string, failed: boolean): void {
  serial += 1;
  done.value = [{ id: serial, curl: curlHere(request), outcome, failed }, ...done.value].slice(0, KEPT);
}
