/** One line that was not imported. */
export type RefusedLine = { line: number; phone: string | null; code: string; reason: string };

/** What is known of an import so far. */
export type ImportReport = {
  done: number;
  total: number | null;
  counts: { created: number; updated: number; unchanged: number; refused: number };
  refused: RefusedLine[];
  finished: boolean;
  error: string | null;
};

export function emptyReport(): ImportReport {
  return {
    done: 0,
    total: null,
    counts: { created: 0, updated: 0, unchanged: 0, refused: 0 },
    refused: [],
    finished: false,
    error: null,
  };
}

type Line = {
  line?: number;
  phone?: string | null;
  result?: keyof ImportReport["counts"];
  code?: string;
  reason?: string;
  progress?: { done: number; total: number };
  summary?: { lines: number };
  error?: { message: string };
};

/** Adds one line of the gateway's report. */
export function addLine(report: ImportReport, text: string): void {
  const line = JSON.parse(text) as Line;
  if (line.result) {
    report.counts[line.result] += 1;
    if (line.result === "refused") {
      report.refused.push({
        line: line.line ?? 0,
        phone: line.phone ?? null,
        code: line.code ?? "",
        reason: line.reason ?? "",
      });
    }
  } else if (line.progress) {
    report.done = line.progress.done;
    report.total = line.progress.total;
  }
  if (line.summary) {
    report.total = line.summary.lines;
    report.finished = true;
  }
  if (line.error) report.error = line.error.message;
}

/** Reads a stream of lines; `onLines` is called with those of each piece that arrives. */
export async function readLines(stream: ReadableStream<Uint8Array>, onLines: (lines: string[]) => void): Promise<void> {
  let rest = "";
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }))).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    const whole = lines.filter(Boolean);
    if (whole.length) onLines(whole);
    if (done) return;
  }
}

/** The lines that were not imported, as a table. A cell that a spreadsheet would run as a formula is quoted. */
export function refusedTable(refused: RefusedLine[]): string {
  const rows = refused.map(({ line, phone, code, reason }) => [String(line), phone ?? "", code, reason]);
  return [["line", "phone", "code", "reason"], ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
