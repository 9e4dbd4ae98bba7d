import { NumberInput, SimpleGrid } from "@mantine/core";
import type { Channel } from "../../shared/channels";
import { useFields } from "../../shared/fields";
import { performChange } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { showDone } from "../../shared/ui/notices";
import { Section } from "../../shared/ui/Section";
import { type LimitValues, limitsOf, limitValues } from "./limits";
import { useChangeChannel } from "./queries";

const INPUTS: { name: keyof LimitValues; label: string; description: string; max: number; step?: number }[] = [
  { name: "throughput", label: "Messages per second", description: "At most.", max: 1000 },
  { name: "tier", label: "New conversations in 24 hours", description: "0: no limit.", max: 10_000_000 },
  { name: "pair_seconds", label: "Seconds between messages to one person", description: "After a burst.", max: 3600 },
  { name: "pair_burst", label: "Messages in such a burst", description: "Sent without waiting.", max: 10_000 },
];

/** The limits that were set for this channel. Those that were not follow the network and the settings. */
export function LimitsForm({ channel }: { channel: Channel }) {
  const change = useChangeChannel(channel.id);
  const { values, before, choice } = useFields(limitValues(channel.limits), change.error);
  const submit = () => {
    const limits = limitsOf(values, before);
    performChange(change, Object.keys(limits).length ? { limits } : {}, () => showDone("The limits are changed."));
  };
  return (
    <Section title="Limits" text="Set a limit to send slower than the network allows. What is empty stays as it is.">
      <Form
        action="Save the limits"
        busy={change.isPending}
        error={change.error}
        fields={INPUTS.map(({ name }) => name)}
        onSubmit={submit}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {INPUTS.map(({ name, ...input }) => {
            const { value, onChange, error } = choice(name);
            return (
              <NumberInput
                key={name}
                {...input}
                min={0}
                value={value}
                error={error}
                onChange={(next) => onChange(typeof next === "number" ? next : "")}
              />
            );
          })}
        </SimpleGrid>
      </Form>
    </Section>
  );
}
