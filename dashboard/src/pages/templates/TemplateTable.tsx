import { Badge, Group, Text } from "@mantine/core";
import { type Column, DataTable } from "../../shared/ui/DataTable";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import type { Template } from "./queries";
import { inPlainWords, qualityLook, statusLook } from "./words";

const COLUMNS: Column<Template>[] = [
  { header: "Template", opens: true, grows: true, cell: ({ name }) => name, below: ({ language }) => language },
  { header: "Category", from: "xs", cell: ({ category }) => inPlainWords(category) },
  {
    header: "Status",
    cell: (template) => <Badges template={template} />,
    below: ({ reason }) =>
      reason && (
        <Text size="xs" mt={4} style={{ overflowWrap: "anywhere" }}>
          {inPlainWords(reason)}
        </Text>
      ),
  },
  { header: "Changed", from: "sm", quiet: true, cell: ({ updated_at }) => <Time value={updated_at} /> },
];

export function TemplateTable(props: { rows: Template[]; onOpen: (template: string) => void }) {
  return <DataTable label="Templates" columns={COLUMNS} {...props} />;
}

/** Status and quality of a template. */
export function Badges({ template }: { template: Pick<Template, "status" | "quality"> }) {
  const quality = qualityLook(template.quality);
  return (
    <Group gap={6}>
      <StatusBadge look={statusLook(template.status)} />
      {quality && (
        <Badge variant="outline" color={quality.color}>
          {quality.label}
        </Badge>
      )}
    </Group>
  );
}
