import { expect, test } from "vitest";
import { addLine, emptyReport, readLines, refusedTable } from "./importReport";

const REPORT = [
  '{"line":2,"phone":"5511999998888","result":"created","id":"ct_1"}',
  '{"line":3,"phone":"=é,1","result":"refused","code":"invalid_phone","reason":"must be \\"digits\\""}',
  '{"progress":{"done":2,"total":2}}',
  '{"summary":{"lines":2,"created":1,"updated":0,"unchanged":0,"refused":1}}',
];

function inPieces(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
      controller.close();
    },
  });
}

test.each([1, 7, 10_000])("a report in pieces of %i bytes is read whole", async (size) => {
  const report = emptyReport();
  await readLines(inPieces(`${REPORT.join("\n")}\n`, size), (lines) => {
    for (const line of lines) addLine(report, line);
  });
  expect(report).toMatchObject({ done: 2, total: 2, finished: true, error: null });
  expect(report.counts).toEqual({ created: 1, updated: 0, unchanged: 0, refused: 1 });
  expect(report.refused).toEqual([{ line: 3, phone: "=é,1", code: "invalid_phone", reason: 'must be "digits"' }]);
});

test("an import that failed keeps what was done", () => {
  const report = emptyReport();
  addLine(report, REPORT[0] as string);
  addLine(report, '{"error":{"code":"overloaded","message":"Try again."},"summary":{"lines":9}}');
  expect(report).toMatchObject({ error: "Try again.", total: 9, finished: true });
});

test("the table of refused lines cannot run in a spreadsheet", () => {
  expect(refusedTable([{ line: 3, phone: "=1,2", code: "invalid_phone", reason: 'must be "digits"' }])).toBe(
    'line,phone,code,reason\r\n3,"\'=1,2",invalid_phone,"must be ""digits"""\r\n',
  );
});
