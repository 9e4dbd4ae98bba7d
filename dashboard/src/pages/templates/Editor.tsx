import { Autocomplete, Box, Button, Group, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconVariable } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ApiProblem, inWords } from "../../shared/api/problem";
import { useFields } from "../../shared/fields";
import { Problem } from "../../shared/ui/Problem";
import { Unsaved } from "../../shared/ui/Unsaved";
import { ButtonFields } from "./ButtonFields";
import classes from "./Editor.module.css";
import { PhonePreview } from "./PhonePreview";
import {
  type Bubble,
  bubbleOf,
  bubbleOfPreview,
  componentsOf,
  nextVariable,
  type TemplateForm,
  variablesOf,
} from "./parts";
import { otherProblems, type Problems, problemsByField } from "./problems";
import { useTemplateCheck } from "./queries";

const LANGUAGES = ["en_US", "en_GB", "pt_BR", "pt_PT", "es", "es_MX", "fr", "de", "it"];
const CATEGORIES = [
  { value: "UTILITY", label: "Utility: about an order, a payment, an account" },
  { value: "MARKETING", label: "Marketing: offers and news" },
];
const TYPING_MS = 400;
const FIELDS = ["name", "language", "category", "header", "headerExample", "body", "examples", "footer", "buttons"];

type Props = {
  initial: TemplateForm;
  fixed: boolean; // name, language and category of an existing template stay
  busy: boolean;
  saved: boolean;
  error: unknown;
  onSubmit: (form: TemplateForm) => void;
};

/** The editor: fields at one side, and what the person will see at the other. */
export function Editor({ initial, fixed, busy, saved, error, onSubmit }: Props) {
  const { values: form, isEdited, change: put, overtaken } = useFields(initial);
  const [sent, setSent] = useState<TemplateForm | null>(null);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const change = (part: Partial<TemplateForm>) => {
    put(part);
    setTouched((before) => new Set([...before, ...Object.keys(part)]));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(form);
    onSubmit(form);
  };
  const { found, bubble } = useCheck(form, fixed);
  const refused = sent ? problemsByField(error instanceof ApiProblem ? error.fields : [], componentsOf(sent)) : {};
  // The rules show at a field that was changed, or at all of them once the template was submitted.
  const problem = (field: keyof TemplateForm) => {
    if ((sent || touched.has(field)) && found[field]) return found[field];
    return (form[field] === sent?.[field] ? refused[field] : undefined) ?? overtaken(field);
  };
  const known = (field: string) => FIELDS.includes(field) || field.startsWith("buttons[");
  const others = otherProblems({ ...(sent ? found : {}), ...refused }, known);
  return (
    <form onSubmit={submit} className={classes.columns}>
      <Stack className={classes.fields}>
        {!fixed && <Names form={form} change={change} problem={problem} />}
        <Texts form={form} change={change} problem={problem} />
        <ButtonFields
          buttons={form.buttons}
          problems={{
            ...(form.buttons === sent?.buttons ? refused : {}),
            ...(touched.has("buttons") || sent ? found : {}),
          }}
          onChange={(buttons) => change({ buttons })}
        />
        <Problem>{overtaken("buttons")}</Problem>
        <Problem>{others ?? (error && Object.keys(refused).length === 0 ? inWords(error) : null)}</Problem>
        <Group justify="flex-end">
          <Button variant="default" renderRoot={(props) => <Link {...props} to="/templates" search={{}} />}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            Submit for review
          </Button>
        </Group>
      </Stack>
      <Box className={classes.preview}>
        <PhonePreview bubble={bubble} />
      </Box>
      <Unsaved edited={isEdited && !saved} />
    </form>
  );
}

/** What the network's rules say about the form when the typing pauses; until then the preview is made here. */
function useCheck(form: TemplateForm, fixed: boolean): { found: Problems; bubble: Bubble } {
  const [paused] = useDebouncedValue(form, TYPING_MS);
  const { data } = useTemplateCheck(paused);
  if (!data) return { found: {}, bubble: bubbleOf(componentsOf(form)) };
  const found = problemsByField(data.problems, componentsOf(data.form));
  if (fixed) delete found.name; // that it is used already is true: by the template itself
  for (const field of Object.keys(found)) {
    const name = field.startsWith("buttons") ? "buttons" : (field as keyof TemplateForm);
    if (form[name] !== data.form[name]) delete found[field]; // it was changed since
  }
  const preview = data.form === form ? data.preview : null;
  return { found, bubble: preview ? bubbleOfPreview(preview) : bubbleOf(componentsOf(form)) };
}

type PartProps = {
  form: TemplateForm;
  change: (part: Partial<TemplateForm>) => void;
  problem: (field: keyof TemplateForm) => string | undefined;
};

function Names({ form, change, problem }: PartProps) {
  return (
    <>
      <TextInput
        label="Name"
        description="Lowercase letters, digits and underscores. People do not see it."
        placeholder="order_sent"
        value={form.name}
        onChange={(event) => change({ name: event.currentTarget.value.toLowerCase().replaceAll(" ", "_") })}
        error={problem("name")}
        required
      />
      <Group grow align="flex-start">
        <Select
          label="Category"
          data={CATEGORIES}
          value={form.category}
          onChange={(category) => category && change({ category })}
          error={problem("category")}
          allowDeselect={false}
        />
        <Autocomplete
          label="Language"
          data={LANGUAGES}
          value={form.language}
          onChange={(language) => change({ language })}
          error={problem("language")}
          required
        />
      </Group>
    </>
  );
}

function Texts({ form, change, problem }: PartProps) {
  const names = variablesOf(form.body);
  const example = (name: string, value: string) => change({ examples: { ...form.examples, [name]: value } });
  return (
    <>
      <TextInput
        label="Header"
        description="A bold line above the text, with one variable at most. May be empty."
        value={form.header}
        onChange={(event) => change({ header: event.currentTarget.value })}
        error={problem("header")}
      />
      {variablesOf(form.header).length > 0 && (
        <TextInput
          label="Example for the header's variable"
          value={form.headerExample}
          onChange={(event) => change({ headerExample: event.currentTarget.value })}
          error={problem("headerExample")}
        />
      )}
      <Stack gap={6}>
        <Textarea
          label="Text"
          placeholder="Hello {{1}}, your order {{2}} has left our shop today."
          value={form.body}
          onChange={(event) => change({ body: event.currentTarget.value })}
          error={problem("body")}
          autosize
          minRows={4}
          maxRows={14}
          required
        />
        <Group>
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<IconVariable size={16} aria-hidden />}
            onClick={() => change({ body: form.body + nextVariable(form.body) })}
          >
            Add a variable
          </Button>
        </Group>
      </Stack>
      {names.map((name) => (
        <TextInput
          key={name}
          label={`Example for {{${name}}}`}
          description={name === "1" ? "The network's reviewers see the examples." : undefined}
          value={form.examples[name] ?? ""}
          onChange={(event) => example(name, event.currentTarget.value)}
          error={form.examples[name] ? undefined : problem("examples")}
        />
      ))}
      <TextInput
        label="Footer"
        description="A small line below the text, without variables. May be empty."
        value={form.footer}
        onChange={(event) => change({ footer: event.currentTarget.value })}
        error={problem("footer")}
      />
    </>
  );
}
