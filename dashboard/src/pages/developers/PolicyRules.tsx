import {
  Checkbox,
  Group,
  Input,
  MultiSelect,
  NumberInput,
  Radio,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from "@mantine/core";
import { problemOf, type useFields } from "../../shared/fields";
import { useLabels } from "../../shared/labels";
import { Section } from "../../shared/ui/Section";
import { useTemplateNames } from "./mcpQueries";
import { type PolicyValues, TYPES } from "./policyForm";

type Props = { fields: ReturnType<typeof useFields<PolicyValues>>; error: unknown };

const MODES = [
  { value: "read", label: "Read", text: "It reads conversations, and changes nothing." },
  { value: "draft", label: "Draft", text: "What it writes waits in the Inbox until a person sends it." },
  { value: "send", label: "Send", text: "It sends by itself, within the rules below." },
];

export function ModeRules({ fields, error }: Props) {
  const { choice, checked } = fields;
  return (
    <Section title="Mode">
      <Radio.Group label="What the assistant does" {...choice("mode")}>
        <Stack gap="xs" mt="xs">
          {MODES.map(({ value, label, text }) => (
            <Radio key={value} value={value} label={label} description={text} />
          ))}
        </Stack>
      </Radio.Group>
      <Switch
        label="Dry run"
        description="Nothing is sent, drafted or changed. The assistant is told what would have happened, and the calls are recorded."
        {...checked("dry_run")}
      />
      <Switch
        label="Files"
        description="It may open pictures and facts of files that people sent."
        {...checked("files")}
      />
      <TextInput
        label="End"
        description="From then on all calls are refused. Empty: no end."
        type="datetime-local"
        styles={{ wrapper: { maxWidth: 260 } }}
        {...fields.text("ends_at")}
        error={problemOf(error, "ends_at")}
      />
    </Section>
  );
}

/** A person fits if one of the rules applies. */
export function RecipientRules({ fields: { values, choice, checked, text }, error }: Props) {
  const { data: labels = [] } = useLabels();
  const known = labels.map(({ id, name }) => ({ value: id, label: name }));
  const gone = values.labels.filter((id) => !known.some(({ value }) => value === id));
  return (
    <Section title="Recipients" text="Whom the assistant may write to. A person fits if one of these applies.">
      <Checkbox label="Anyone" {...checked("anyone")} />
      {!values.anyone && (
        <>
          <Group gap="sm" align="flex-start">
            <Checkbox label="People who wrote within the last" {...checked("wrote")} mt={8} />
            <NumberInput
              aria-label="Days"
              suffix=" days"
              w={120}
              min={1}
              max={365}
              allowDecimal={false}
              disabled={!values.wrote}
              {...choice("days", "recipients.wrote_within_days")}
            />
          </Group>
          <MultiSelect
            label="People with one of these labels"
            data={[...known, ...gone.map((id) => ({ value: id, label: `Deleted label ${id}` }))]}
            searchable
            clearable
            {...choice("labels", "recipients.labels")}
          />
          <Textarea
            label="These numbers"
            description="With the country code, one per line."
            autosize
            minRows={2}
            maxRows={10}
            {...text("phones", "recipients.phones")}
          />
        </>
      )}
      <Input.Error role="alert">{only(error, "recipients")}</Input.Error>
      <Switch
        label="No crossing"
        description="For an hour after it has read one conversation, what it writes to anybody else becomes a draft, and a note there is refused."
        {...checked("no_crossing")}
      />
    </Section>
  );
}

/** What is wrong with a group of fields as a whole. */
function only(error: unknown, group: string): string | undefined {
  const problem = problemOf(error, group);
  const inner = ["wrote_within_days", "labels", "phones", "start", "end", "tz"];
  return inner.some((name) => problemOf(error, `${group}.${name}`)) ? undefined : problem;
}

export function LimitRules({ fields: { values, choice, checked, text }, error }: Props) {
  return (
    <Section title="Limits">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <NumberInput
          label="Messages per hour"
          min={0}
          max={10_000}
          allowDecimal={false}
          {...choice("sends_per_hour")}
        />
        <NumberInput
          label="Per hour to one person"
          min={0}
          max={10_000}
          allowDecimal={false}
          {...choice("sends_per_conversation")}
        />
        <NumberInput
          label="In a row without an answer"
          min={1}
          max={100}
          allowDecimal={false}
          {...choice("unanswered")}
        />
      </SimpleGrid>
      <Switch label="Quiet hours" description="Nothing is sent in this time." {...checked("quiet")} />
      {values.quiet && (
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          <TextInput label="From" type="time" {...text("start", "quiet_hours.start")} />
          <TextInput label="To" type="time" {...text("end", "quiet_hours.end")} />
          <Select label="Time zone" data={zones(values.tz)} searchable {...choice("tz", "quiet_hours.tz")} />
        </SimpleGrid>
      )}
      <Input.Error role="alert">{only(error, "quiet_hours")}</Input.Error>
    </Section>
  );
}

function zones(current: string | null): string[] {
  return [...new Set([...Intl.supportedValuesOf("timeZone"), "UTC", ...(current ? [current] : [])])].sort();
}

export function ContentRules({ fields: { values, choice, checked }, error }: Props) {
  const names = useTemplateNames();
  return (
    <Section title="Content">
      <Switch label="All types of messages" {...checked("all_types")} />
      {!values.all_types && <MultiSelect label="Types" data={TYPES} clearable {...choice("types")} />}
      <Switch label="All templates" {...checked("all_templates")} />
      {!values.all_templates && (
        <TagsInput label="Templates" description="Their names" data={names} clearable {...choice("templates")} />
      )}
      <Radio.Group label="Links" {...choice("links")} error={values.links === "some" ? undefined : linkError(error)}>
        <Group gap="lg" mt="xs">
          <Radio value="any" label="To any host" />
          <Radio value="none" label="None" />
          <Radio value="some" label="Only to these hosts" />
        </Group>
      </Radio.Group>
      {values.links === "some" && (
        <TagsInput
          label="Hosts"
          description="example.com allows its subdomains too."
          placeholder="example.com"
          clearable
          {...choice("hosts", "link_hosts")}
        />
      )}
    </Section>
  );
}

function linkError(error: unknown): string | undefined {
  return problemOf(error, "link_hosts");
}
