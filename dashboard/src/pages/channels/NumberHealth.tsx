import { Button, Group, List, Text } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { inWords } from "../../shared/api/problem";
import { Problem } from "../../shared/ui/Problem";
import { Section } from "../../shared/ui/Section";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { Fact } from "./ChannelCard";
import { useHealth } from "./queries";
import { qualityLook } from "./words";

/** What the network says about the number now. */
export function NumberHealth({ id }: { id: string }) {
  const health = useHealth(id);
  const found = health.data;
  const quality = qualityLook(found?.quality ?? null);
  return (
    <Section
      title="Number at the network"
      actions={
        <Button
          variant="default"
          size="xs"
          leftSection={<IconRefresh size={14} aria-hidden />}
          loading={health.isFetching}
          onClick={() => void health.refetch()}
        >
          Check now
        </Button>
      }
    >
      <Problem>{health.error ? inWords(health.error) : null}</Problem>
      {found && (
        <Group gap="xl">
          {found.name && <Fact label="Verified name">{found.name}</Fact>}
          <Fact label="Quality">{quality ? <StatusBadge look={quality} size="sm" /> : "–"}</Fact>
          <Fact label="Status">{found.status ?? "–"}</Fact>
          <Fact label="Can send">{found.can_send ?? "–"}</Fact>
          <Fact label="Checked">
            <Time value={found.checked_at} />
          </Fact>
        </Group>
      )}
      {found && found.problems.length > 0 && (
        <List size="sm">
          {found.problems.map((problem) => (
            <List.Item key={JSON.stringify(problem)}>
              <Text size="sm">
                {problem.about}: {problemWords(problem.error)}
              </Text>
            </List.Item>
          ))}
        </List>
      )}
    </Section>
  );
}

/** The network's words for a problem. */
function problemWords(error: unknown): string {
  const known = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  const texts = [known.error_description, known.possible_solution].filter((one) => typeof one === "string");
  return texts.join(" ") || JSON.stringify(error);
}
