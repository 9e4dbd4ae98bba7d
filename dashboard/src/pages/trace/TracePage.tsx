import { Group, Stack, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { inFull } from "../../shared/times";
import { messageLook, messageWords, senderWords } from "../../shared/trace/message";
import { type Trace, useTrace } from "../../shared/trace/queries";
import { TraceTimeline } from "../../shared/trace/TraceTimeline";
import { isWaiting } from "../../shared/trace/timeline";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { CopyField } from "../../shared/ui/CopyField";
import { Loaded } from "../../shared/ui/Loaded";
import { OpenConversation } from "../../shared/ui/OpenConversation";
import { PageHeader } from "../../shared/ui/PageHeader";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { StatusBadge } from "../../shared/ui/StatusBadge";

export function TracePage() {
  return (
    <ChannelPage>
      <Page />
    </ChannelPage>
  );
}

function Page() {
  const { message } = useParams({ from: "/signed-in/messages/$message" });
  const trace = useTrace(message);
  return (
    <>
      <PageHeader
        title="Trace of a message"
        actions={trace.data && <OpenConversation id={trace.data.message.conversation.id} />}
      >
        Every step from its acceptance to each webhook attempt.
      </PageHeader>
      <Loaded query={trace} loading={<SkeletonRows label="Loading the trace" rows={5} height={72} />}>
        {(data) => (
          <Stack gap="lg">
            <Message trace={data} />
            <Section
              title="Time line"
              text={isWaiting(data) ? "Not finished: new steps appear here as they happen." : undefined}
            >
              <TraceTimeline trace={data} />
            </Section>
          </Stack>
        )}
      </Loaded>
    </>
  );
}

function Message({ trace: { message } }: { trace: Trace }) {
  const { contact, direction } = message;
  const person = contact.name || (contact.phone ? `+${contact.phone}` : "a hidden number");
  const sender = senderWords(message);
  return (
    <Section title="Message" actions={<StatusBadge look={messageLook(message)} size="lg" />}>
      <Text style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }} lineClamp={6}>
        {messageWords(message)}
      </Text>
      <Text size="sm" c="dimmed">
        {direction === "in" ? "From" : "To"} {person}, {inFull(message.created_at)}.{sender && ` ${sender}.`}
        {message.client_ref && ` Reference ${message.client_ref}.`}
      </Text>
      <Group>
        <CopyField label="Message id" value={message.key.id} />
      </Group>
    </Section>
  );
}
