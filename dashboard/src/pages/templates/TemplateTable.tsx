import { Badge, Box, Group, Table, Text, UnstyledButton } from "@mantine/core";
import { Time } from "../../shared/ui/Time";
import type { Template } from "./queries";
import classes from "./TemplateTable.module.css";
import { inPlainWords, qualityLook, statusLook } from "./words";

type Props = { rows: Template[]; onOpen: (template: string) => void };

export function TemplateTable({ rows, onOpen }: Props) {
  return (
    <Box className="surface" style={{ overflow: "hidden" }}>
      <Table highlightOnHover verticalSpacing="sm" horizontalSpacing="md" className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Template</Table.Th>
            <Table.Th className={classes.small}>Category</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th className={classes.medium}>Changed</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((template) => (
            <Row key={template.id} template={template} onOpen={() => onOpen(template.id)} />
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

function Row({ template, onOpen }: { template: Template; onOpen: () => void }) {
  return (
    <Table.Tr className={classes.row} onClick={onOpen}>
      <Table.Td className={classes.name}>
        <UnstyledButton className={classes.open} onClick={onOpen}>
          <Text size="sm" fw={600} truncate title={template.name}>
            {template.name}
          </Text>
        </UnstyledButton>
        <Text size="xs" c="dimmed">
          {template.language}
        </Text>
      </Table.Td>
      <Table.Td className={classes.small}>
        <Text size="sm">{inPlainWords(template.category)}</Text>
      </Table.Td>
      <Table.Td>
        <Badges template={template} />
        {template.reason && (
          <Text size="xs" c="dimmed" mt={4} style={{ overflowWrap: "anywhere" }}>
            {inPlainWords(template.reason)}
          </Text>
        )}
      </Table.Td>
      <Table.Td className={`${classes.time} ${classes.medium}`}>
        <Time value={template.updated_at} />
      </Table.Td>
    </Table.Tr>
  );
}

/** Status and quality of a template. */
export function Badges({ template }: { template: Pick<Template, "status" | "quality"> }) {
  const status = statusLook(template.status);
  const quality = qualityLook(template.quality);
  return (
    <Group gap={6}>
      <Badge variant="light" color={status.color}>
        {status.label}
      </Badge>
      {quality && (
        <Badge variant="outline" color={quality.color}>
          {quality.label}
        </Badge>
      )}
    </Group>
  );
}
