import { Button, FileInput, Group, Modal, Select, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { IconTemplate } from "@tabler/icons-react";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Failure } from "../../shared/ui/Failure";
import { Problem } from "../../shared/ui/Problem";
import classes from "./Composer.module.css";
import { fileProblem } from "./files";
import { keyed } from "./keyed";
import { Words } from "./MessageBody";
import { type SendRequest, type Template, useTemplates, useUpload } from "./queries";
import { fill, readTemplate, type TemplateShape } from "./templates";
import { useSendOnce } from "./useSendOnce";

type Props = { opened: boolean; onClose: () => void; phone: string };

/** Chooses an approved template, fills in its values and sends it. */
export function TemplateDialog({ opened, onClose, phone }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Send a template" size="lg">
      {opened && <Choose phone={phone} onSent={onClose} />}
    </Modal>
  );
}

function Choose({ phone, onSent }: { phone: string; onSent: () => void }) {
  const { data: templates, error, refetch } = useTemplates(true);
  const [chosen, setChosen] = useState<string | null>(null);
  if (error && !templates) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!templates) return <Skeleton height={160} />;
  if (templates.length === 0) {
    return (
      <EmptyState icon={IconTemplate} title="No approved template">
        A template has to be approved by the network before it can be sent. Create one with the API, or read those of
        your account from the network (POST /api/v1/templates/sync).
      </EmptyState>
    );
  }
  const template = templates.find(({ id }) => id === chosen);
  return (
    <Stack>
      <Select
        label="Template"
        placeholder="Choose a template"
        searchable
        data-autofocus
        data={templates.map(({ id, name, language }) => ({ value: id, label: `${name} (${language})` }))}
        value={chosen}
        onChange={setChosen}
      />
      {template && <Values key={template.id} template={template} phone={phone} onSent={onSent} />}
    </Stack>
  );
}

const FILE_FORMATS: Record<string, "image" | "video" | "document"> = {
  IMAGE: "image",
  VIDEO: "video",
  DOCUMENT: "document",
};

function Values({ template, phone, onSent }: { template: Template; phone: string; onSent: () => void }) {
  const shape = readTemplate(template);
  const [values, setValues] = useState<Record<string, string>>({});
  const [header, setHeader] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [buttons, setButtons] = useState<Record<number, string>>({});
  const [uploadKey] = useState(() => crypto.randomUUID());
  const upload = useUpload();
  const { submit, busy, error } = useSendOnce(onSent);
  const format = shape.header ? FILE_FORMATS[shape.header.format] : undefined;
  const unsendable = shape.header && shape.header.format !== "TEXT" && !format;
  const problem = file && fileProblem(file);
  const complete =
    shape.variables.every((name) => values[name]?.trim()) &&
    (!shape.header?.variable || header.trim()) &&
    (!format || (file && !problem)) &&
    shape.buttonFields.every(({ index }) => buttons[index]?.trim());
  const onSubmit = async () => {
    const media = format && file ? await upload.mutateAsync({ file, key: uploadKey }).catch(() => null) : null;
    if (format && !media) return;
    const content: NonNullable<SendRequest["template"]> = { name: template.name, language: template.language };
    if (shape.variables.length) content.variables = givenValues(shape, values);
    if (shape.header?.variable) content.header = header.trim();
    if (media) content.header = { type: format, media: { id: media.id } };
    if (shape.buttonFields.length) {
      content.buttons = shape.buttonFields.map(({ index, field }) => ({ index, [field]: buttons[index]?.trim() }));
    }
    submit({ phone, type: "template", template: content });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      <Stack>
        {shape.header?.variable && (
          <TextInput
            label="Heading"
            required
            value={header}
            onChange={(event) => setHeader(event.currentTarget.value)}
          />
        )}
        {format && (
          <FileInput
            label={{ image: "Picture", video: "Video", document: "Document" }[format]}
            placeholder="Choose a file"
            required
            value={file}
            error={problem}
            onChange={setFile}
          />
        )}
        {shape.variables.map((name) => (
          <TextInput
            key={name}
            label={shape.named ? name : `Value ${name}`}
            required
            value={values[name] ?? ""}
            onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        ))}
        {shape.buttonFields.map(({ index, label }) => (
          <TextInput
            key={index}
            label={label}
            required
            value={buttons[index] ?? ""}
            onChange={(event) => setButtons({ ...buttons, [index]: event.currentTarget.value })}
          />
        ))}
        <Preview shape={shape} values={values} header={header} />
        <Problem>
          {unsendable
            ? "This template has a heading that can only be sent with the API."
            : error || upload.error
              ? inWords(error ?? upload.error)
              : null}
        </Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={busy || upload.isPending} disabled={!complete || Boolean(unsendable)}>
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function givenValues(shape: TemplateShape, values: Record<string, string>): string[] | Record<string, string> {
  if (shape.named) return Object.fromEntries(shape.variables.map((name) => [name, values[name]?.trim() ?? ""]));
  return shape.variables.toSorted((a, b) => Number(a) - Number(b)).map((name) => values[name]?.trim() ?? "");
}

function Preview({ shape, values, header }: { shape: TemplateShape; values: Record<string, string>; header: string }) {
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        Preview
      </Text>
      <section className={classes.preview} aria-label="Preview">
        {shape.header?.text && (
          <Text size="sm" fw={700}>
            {fill(shape.header.text, shape.header.variable ? { [shape.header.variable]: header } : {})}
          </Text>
        )}
        <Words text={fill(shape.body, values)} />
        {shape.footer && (
          <Text size="xs" c="dimmed">
            {shape.footer}
          </Text>
        )}
        {keyed(shape.buttons).map(({ key, item: title }) => (
          <Text key={key} size="sm" fw={500} ta="center" mt={4}>
            {title}
          </Text>
        ))}
      </section>
    </div>
  );
}
