import { Button, FileInput, Group, Stack, Text, TextInput } from "@mantine/core";
import { IconFile, IconMapPin, IconShoppingBag } from "@tabler/icons-react";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { Problem } from "../../shared/ui/Problem";
import classes from "./Composer.module.css";
import { fileProblem } from "./files";
import { keyed } from "./keyed";
import { Words } from "./MessageBody";
import { type Template, useUpload } from "./queries";
import {
  fill,
  type HeaderNeed,
  isComplete,
  isFileKind,
  NO_INPUT,
  readTemplate,
  type TemplateInput,
  type TemplateShape,
  toContent,
} from "./templates";
import { useSendOnce } from "./useSendOnce";

type Props = { template: Template; phone: string; onSent: () => void };

/** The values of a template, with a preview of what the person will see. */
export function TemplateForm({ template, phone, onSent }: Props) {
  const shape = readTemplate(template);
  const [input, setInput] = useState(NO_INPUT);
  const [upload, { submit, busy, error }] = [useUpload(), useSendOnce(onSent)];
  const [uploadKey, setUploadKey] = useState(() => crypto.randomUUID());
  const change = (part: Partial<TemplateInput>) => setInput((before) => ({ ...before, ...part }));
  const problem = input.file && fileProblem(input.file);
  const onSubmit = async () => {
    const { file } = input;
    const media = file ? await upload.mutateAsync({ file, key: uploadKey }).catch(() => null) : null;
    if (!file || media)
      submit({ phone, type: "template", template: toContent(template, shape, input, media?.id ?? null) });
  };
  const failure = error ?? upload.error;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      <Stack>
        <HeaderFields
          need={shape.need}
          input={input}
          problem={problem}
          onChange={(part) => {
            if ("file" in part) setUploadKey(crypto.randomUUID()); // another file is another upload
            change(part);
          }}
        />
        {shape.variables.map((name) => (
          <TextInput
            key={name}
            label={shape.named ? name : `Value ${name}`}
            required
            maxLength={1024}
            value={input.variables[name] ?? ""}
            onChange={(event) => change({ variables: { ...input.variables, [name]: event.currentTarget.value } })}
          />
        ))}
        {shape.buttonFields.map(({ index, label, max }) => (
          <TextInput
            key={index}
            label={label}
            required
            maxLength={max}
            value={input.buttons[index] ?? ""}
            onChange={(event) => change({ buttons: { ...input.buttons, [index]: event.currentTarget.value } })}
          />
        ))}
        <Preview shape={shape} input={input} />
        <Problem>
          {shape.onlyByApi
            ? "This template has parts, such as cards or an offer, that can only be sent with the API."
            : failure
              ? inWords(failure)
              : null}
        </Problem>
        <Group justify="flex-end">
          <Button
            type="submit"
            loading={busy || upload.isPending}
            disabled={!isComplete(shape, input) || Boolean(problem) || shape.onlyByApi}
          >
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type HeaderProps = {
  need: HeaderNeed;
  input: TemplateInput;
  problem: string | null;
  onChange: (part: Partial<TemplateInput>) => void;
};

const FILE_LABELS = { image: "Picture", video: "Video", gif: "Animation (MP4)", document: "Document" };
const FILE_TYPES = { image: "image/jpeg,image/png", video: "video/mp4,video/3gpp", gif: "video/mp4", document: "" };

function HeaderFields({ need, input, problem, onChange }: HeaderProps) {
  if (need.kind === "text")
    return <Field label="Heading" value={input.header} onType={(header) => onChange({ header })} />;
  if (isFileKind(need.kind)) {
    return (
      <FileInput
        label={FILE_LABELS[need.kind]}
        placeholder="Choose a file"
        required
        accept={FILE_TYPES[need.kind] || undefined}
        value={input.file}
        error={problem}
        onChange={(file) => onChange({ file })}
      />
    );
  }
  if (need.kind === "location") {
    return (
      <Group grow align="flex-start">
        <Field label="Latitude" value={input.latitude} onType={(latitude) => onChange({ latitude })} />
        <Field label="Longitude" value={input.longitude} onType={(longitude) => onChange({ longitude })} />
        <Field label="Name of the place" optional value={input.place} onType={(place) => onChange({ place })} />
      </Group>
    );
  }
  if (need.kind !== "product") return null;
  return (
    <Group grow align="flex-start">
      <Field label="Catalogue" value={input.catalog} onType={(catalog) => onChange({ catalog })} />
      <Field label="Product" value={input.product} onType={(product) => onChange({ product })} />
    </Group>
  );
}

type FieldProps = { label: string; value: string; optional?: boolean; onType: (text: string) => void };

function Field({ label, value, optional, onType }: FieldProps) {
  return (
    <TextInput
      label={label}
      required={!optional}
      maxLength={1024}
      value={value}
      onChange={(event) => onType(event.currentTarget.value)}
    />
  );
}

function Preview({ shape, input }: { shape: TemplateShape; input: TemplateInput }) {
  const { header, need } = shape;
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        Preview
      </Text>
      <section className={classes.preview} aria-label="Preview">
        {header?.text && (
          <Text size="sm" fw={700}>
            {fill(header.text, header.variable ? { [header.variable]: input.header } : {})}
          </Text>
        )}
        <HeaderPicture need={need} input={input} />
        <Words text={fill(shape.body, input.variables)} />
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

function HeaderPicture({ need, input }: { need: HeaderNeed; input: TemplateInput }) {
  if (need.kind === "none" || need.kind === "text") return null;
  const [Picture, text] =
    need.kind === "location"
      ? ([IconMapPin, input.place || "Location"] as const)
      : need.kind === "product"
        ? ([IconShoppingBag, input.product || "Product"] as const)
        : ([IconFile, input.file?.name ?? FILE_LABELS[need.kind]] as const);
  return (
    <Group gap={6} wrap="nowrap" mb={4} className={classes.previewHead}>
      <Picture size={20} aria-hidden />
      <Text size="sm">{text}</Text>
    </Group>
  );
}
