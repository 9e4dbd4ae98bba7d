import { Group, Skeleton, Stack, Text } from "@mantine/core";
import { messageLook } from "../../shared/trace/message";
import { useTrace } from "../../shared/trace/queries";
import { TraceLink } from "../../shared/trace/TraceLink";
import { TraceTimeline } from "../../shared/trace/TraceTimeline";
import { Loaded } from "../../shared/ui/Loaded";
import { SidePanel } from "../../shared/ui/SidePanel";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { inOneLine } from "./content";

type Props = { message: string | undefined; onClose: () => void };

/** What happened to one message, beside its conversation. */
export function TraceDrawer({ message, onClose }: Props) {
  return (
    <SidePanel title="Trace of a message" id={message} onClose={onClose}>
      {(id) => <Trace id={id} />}
    </SidePanel>
  );
}

function Trace({ id }: { id: string }) {
  return (
    <Loaded query={useTrace(id)} loading={<Skeleton height={320} aria-label="Loading the trace" />}>
      {(data) => (
        <Stack>
          <Group gap="sm" wrap="nowrap">
            <StatusBadge look={messageLook(data.message)} />
            <Text size="sm" truncate>
              {inOneLine(data.message)}
            </Text>
          </Group>
          <TraceLink message={id} label="Open as a page" />
          <TraceTimeline trace={data} />
        </Stack>
      )}
    </Loaded>
  );
}
