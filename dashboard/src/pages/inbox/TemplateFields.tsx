import { Button, CloseButton, Fieldset, FileInput, Group, Stack, Textarea, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { fileProblem } from "./files";
import {
  type ButtonField,
  isFileKind,
  NO_INPUT,
  type ProductSection,
  type TemplateInput,
  type TemplateShape,
} from "./templates";

const MOST_SECTIONS = 10;

type Props = { shape: TemplateShape; input: TemplateInput; onChange: (input: TemplateInput) => void };

/** The inputs for the values of a template, or of one of its cards. */
export function TemplateFields({ shape, input, onChange }: Props) {
  const change = (part: Partial<TemplateInput>) => onChange({ ...input, ...part });
  return (
    <Stack>
      <HeaderFields shape={shape} input={input} onChange={onChange} />
      {shape.variables.map((name) => (
        <Field
          key={name}
          label={shape.named ? name : `Value ${name}`}
          value={input.variables[name] ?? ""}
          onType={(value) => change({ variables: { ...input.variables, [name]: value } })}
        />
      ))}
      {shape.offer?.ends && (
        <TextInput
          label="End of the offer"
          type="datetime-local"
          required
          value={input.ends}
          onChange={(event) => change({ ends: event.currentTarget.value })}
        />
      )}
      {shape.buttonFields.map((field) => (
        <ButtonFields key={field.index} field={field} input={input} onChange={onChange} />
      ))}
      {shape.cards.map((card, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the cards of a template have no other name
        <Fieldset key={index} legend={`Card ${index + 1}`}>
          <TemplateFields
            shape={card}
            input={input.cards[index] ?? NO_INPUT}
            onChange={(changed) => change({ cards: input.cards.map((one, i) => (i === index ? changed : one)) })}
          />
        </Fieldset>
      ))}
    </Stack>
  );
}

export const FILE_LABELS = { image: "Picture", video: "Video", gif: "Animation (MP4)", document: "Document" };
const FILE_TYPES = { image: "image/jpeg,image/png", video: "video/mp4,video/3gpp", gif: "video/mp4", document: "" };

function HeaderFields({ shape: { need }, input, onChange }: Props) {
  const change = (part: Partial<TemplateInput>) => onChange({ ...input, ...part });
  if (need.kind === "text") {
    return <Field label="Heading" max={60} value={input.header} onType={(header) => change({ header })} />;
  }
  if (isFileKind(need.kind)) {
    return (
      <FileInput
        label={FILE_LABELS[need.kind]}
        placeholder="Choose a file"
        required
        accept={FILE_TYPES[need.kind] || undefined}
        value={input.file}
        error={input.file && fileProblem(input.file)}
        onChange={(file) => change({ file })}
      />
    );
  }
  if (need.kind === "location") {
    return (
      <Group grow align="flex-start">
        <Field label="Latitude" value={input.latitude} onType={(latitude) => change({ latitude })} />
        <Field label="Longitude" value={input.longitude} onType={(longitude) => change({ longitude })} />
        <Field label="Name of the place" optional value={input.place} onType={(place) => change({ place })} />
      </Group>
    );
  }
  if (need.kind !== "product") return null;
  return (
    <Group grow align="flex-start">
      <Field label="Catalogue" value={input.catalog} onType={(catalog) => change({ catalog })} />
      <Field label="Product" value={input.product} onType={(product) => change({ product })} />
    </Group>
  );
}

function ButtonFields({ field, input, onChange }: Omit<Props, "shape"> & { field: ButtonField }) {
  if (field.field === "products") {
    return <Products sections={input.sections} onChange={(sections) => onChange({ ...input, sections })} />;
  }
  return (
    <Field
      label={field.label}
      optional={field.optional}
      max={field.max}
      value={input.buttons[field.index] ?? ""}
      onType={(value) => onChange({ ...input, buttons: { ...input.buttons, [field.index]: value } })}
    />
  );
}

type ProductsProps = { sections: ProductSection[]; onChange: (sections: ProductSection[]) => void };

/** The products that a button opens, in one list or in several with titles. */
function Products({ sections, onChange }: ProductsProps) {
  const change = (index: number, part: Partial<ProductSection>) =>
    onChange(sections.map((one, i) => (i === index ? { ...one, ...part } : one)));
  return (
    <Stack>
      {sections.map(({ title, products }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: sections have no other name
        <Fieldset key={index} legend={`Products ${index + 1}`}>
          <Stack gap="sm">
            <Group wrap="nowrap" align="flex-end">
              <TextInput
                flex={1}
                label="Title"
                required={sections.length > 1}
                maxLength={24}
                value={title}
                onChange={(event) => change(index, { title: event.currentTarget.value })}
              />
              {sections.length > 1 && (
                <CloseButton
                  size="lg"
                  aria-label={`Remove products ${index + 1}`}
                  onClick={() => onChange(sections.filter((_, i) => i !== index))}
                />
              )}
            </Group>
            <Textarea
              label="Ids of products"
              description="As in your catalogue, one in each line."
              required
              autosize
              minRows={2}
              maxRows={8}
              value={products}
              onChange={(event) => change(index, { products: event.currentTarget.value })}
            />
          </Stack>
        </Fieldset>
      ))}
      {sections.length < MOST_SECTIONS && (
        <Button
          variant="subtle"
          size="sm"
          leftSection={<IconPlus size={15} aria-hidden />}
          onClick={() => onChange([...sections, { title: "", products: "" }])}
        >
          Add a section
        </Button>
      )}
    </Stack>
  );
}

type FieldProps = {
  label: string;
  value: string;
  optional?: boolean;
  max?: number;
  onType: (text: string) => void;
};

function Field({ label, value, optional, max = 1024, onType }: FieldProps) {
  return (
    <TextInput
      label={label}
      required={!optional}
      maxLength={max}
      value={value}
      onChange={(event) => onType(event.currentTarget.value)}
    />
  );
}
