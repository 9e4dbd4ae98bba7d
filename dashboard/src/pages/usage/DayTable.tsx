import { ScrollArea, Table } from "@mantine/core";
import { number } from "../../shared/numbers";
import { dayWords } from "./BarPlot";
import type { Series } from "./series";

/** The numbers of a plot, the newest day first. */
export function DayTable({ days, series }: { days: string[]; series: Series[] }) {
  const order = days.map((_, i) => days.length - 1 - i);
  return (
    <ScrollArea.Autosize mah={420} type="auto" viewportProps={{ tabIndex: 0, "aria-label": "Messages of each day" }}>
      <Table stickyHeader verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Day</Table.Th>
            {series.map((one) => (
              <Table.Th key={one.label} ta="right">
                {one.label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {order.map((i) => (
            <Table.Tr key={days[i]}>
              <Table.Th scope="row" fw={400}>
                {dayWords(days[i] ?? "")}
              </Table.Th>
              {series.map((one) => (
                <Table.Td key={one.label} ta="right">
                  {number(one.values[i] ?? 0)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
