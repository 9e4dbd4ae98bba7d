import { Button, FileButton, Group, Progress, Stack, Text } from "@mantine/core";
import { IconTableImport } from "@tabler/icons-react";
import { type DragEvent, useRef, useState } from "react";
import { inWords } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { Dialog } from "../../shared/ui/Dialog";
import { Problem } from "../../shared/ui/Problem";
import classes from "./ImportDialog.module.css";
import { ImportResult } from "./ImportResult";
import { emptyReport, type ImportReport } from "./importReport";
import { useImport } from "./queries";

const LARGEST = 64 * 1024 * 1024; // bytes, as the gateway takes them

type Props = { opened: boolean; onClose: () => void };

/** Imports a table of contacts, with progress and what is wrong with which line. */
export function ImportDialog({ opened, onClose }: Props) {
  const [running, setRunning] = useState(false);
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      title="Import contacts"
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={!running}
      withCloseButton={!running}
    >
      <Import onRunning={setRunning} onClose={onClose} />
    </Dialog>
  );
}

function Import({ onRunning, onClose }: { onRunning: (running: boolean) => void; onClose: () => void }) {
  const [report, setReport] = useState<ImportReport | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const abort = useRef<AbortController | null>(null);
  const run = useImport();
  const start = (file: File) => {
    const wrong = fileProblem(file);
    setProblem(wrong);
    if (wrong) return;
    abort.current = new AbortController();
    setReport(emptyReport());
    onRunning(true);
    perform(
      run,
      { file, signal: abort.current.signal, onReport: setReport },
      {
        onError: (error) => {
          const stopped = abort.current?.signal.aborted;
          setProblem(stopped ? "The import was stopped. Lines that were written stay." : inWords(error));
          setReport((before) => (before?.done ? before : null));
        },
        onSettled: () => onRunning(false),
      },
    );
  };
  if (run.isPending) return <Running report={report} onStop={() => abort.current?.abort()} />;
  return (
    <Stack>
      <Problem>{problem ?? report?.error ?? null}</Problem>
      {report ? <ImportResult report={report} /> : <Choose onFile={start} />}
      {report && (
        <Group justify="flex-end">
          <Button variant="default" onClick={() => setReport(null)}>
            Import another file
          </Button>
          <Button onClick={onClose}>Done</Button>
        </Group>
      )}
    </Stack>
  );
}

/** Says why a file cannot be imported, before it is sent. */
export function fileProblem({ size }: Pick<File, "size">): string | null {
  if (size === 0) return "This file is empty.";
  if (size <= LARGEST) return null;
  const megabytes = Math.ceil(size / 1024 / 1024).toLocaleString();
  return `This file has ${megabytes} MB, and 64 MB is the most. Import it in parts.`;
}

function Choose({ onFile }: { onFile: (file: File) => void }) {
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file) onFile(file);
  };
  return (
    <Stack>
      <Text c="dimmed" size="sm">
        A CSV table whose first line names the columns: <code>phone</code>, and if you like <code>name</code>,{" "}
        <code>opted_out</code> and fields of your own. A number that is there already is updated; an empty cell changes
        nothing.
      </Text>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is an extra; the button does the same */}
      <div
        className={classes.drop}
        data-over={over || undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <IconTableImport size={32} stroke={1.5} aria-hidden />
        <Text>Drop a file here, or</Text>
        <FileButton
          onChange={(file) => file && onFile(file)}
          accept=".csv,.txt,text/csv"
          inputProps={{ "aria-label": "Table" }}
        >
          {(props) => (
            <Button {...props} data-autofocus>
              Choose a file
            </Button>
          )}
        </FileButton>
      </div>
    </Stack>
  );
}

function Running({ report, onStop }: { report: ImportReport | null; onStop: () => void }) {
  const { done, total } = report ?? emptyReport();
  return (
    <Stack>
      <Text role="status">
        {total === null
          ? "The file is sent and checked…"
          : `${done.toLocaleString()} of ${total.toLocaleString()} lines`}
      </Text>
      <Progress.Root size="lg">
        <Progress.Section
          value={total === null ? 100 : (100 * done) / Math.max(total, 1)}
          animated
          aria-label="Progress of the import"
        />
      </Progress.Root>
      <Group justify="flex-end">
        <Button variant="default" onClick={onStop}>
          Stop
        </Button>
      </Group>
    </Stack>
  );
}
