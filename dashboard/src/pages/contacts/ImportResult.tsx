import { Button, Group, ScrollArea, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { downloadText } from "../../shared/download";
import { type ImportReport, refusedTable } from "./importReport";

const SHOWN = 100; // the rest is in the file

const RESULTS = [
  ["created", "Added"],
  ["updated", "Updated"],
  ["unchanged", "Unchanged"],
  ["refused", "Not imported"],
] as const;

/** What became of the lines of a table. */
export function ImportResult({ report }: { report: ImportReport }) {
  return (
    <Stack>
      <SimpleGrid component="dl" cols={{ base: 2, xs: 4 }} m={0} spacing="sm">
        {RESULTS.map(([result, label]) => (
          <div key={result} className="surface" style={{ padding: 12 }}>
            <Text component="dt" size="sm" c="dimmed">
              {label}
            </Text>
            <Text component="dd" m={0} fw={650} size="xl">
              {report.counts[result].toLocaleString()}
            </Text>
          </div>
        ))}
      </SimpleGrid>
      {!report.finished && (
        <Text>The report ended early. Import the file again: lines that are there change nothing.</Text>
      )}
      {report.refused.length > 0 && <Refused report={report} />}
    </Stack>
  );
}

function Refused({ report: { refused } }: { report: ImportReport }) {
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text fw={600}>Lines that were not imported</Text>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconDownload size={14} aria-hidden />}
          onClick={() => downloadText("not-imported.csv", refusedTable(refused))}
        >
          Download
        </Button>
      </Group>
      <ScrollArea.Autosize
        mah={260}
        viewportProps={{ tabIndex: 0, role: "group", "aria-label": "Lines that were not imported" }}
      >
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Line</Table.Th>
              <Table.Th>Number</Table.Th>
              <Table.Th>Reason</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {refused.slice(0, SHOWN).map((one) => (
              <Table.Tr key={one.line}>
                <Table.Td>{one.line}</Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{one.phone}</Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{one.reason}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
      {refused.length > SHOWN && (
        <Text size="sm" c="dimmed">
          The first {SHOWN} of {refused.length.toLocaleString()} lines. The file has all of them.
        </Text>
      )}
    </Stack>
  );
}
