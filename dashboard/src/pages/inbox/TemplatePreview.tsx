import { Group, Text } from "@mantine/core";
import { IconClock, IconFile, IconMapPin, IconShoppingBag } from "@tabler/icons-react";
import { fromLocalInput, inFull } from "../../shared/times";
import classes from "./Composer.module.css";
import { keyed } from "./keyed";
import { Words } from "./MessageBody";
import { FILE_LABELS } from "./TemplateFields";
import { fill, NO_INPUT, type TemplateInput, type TemplateShape } from "./templates";

type Props = { shape: TemplateShape; input: TemplateInput };

/** What the person will see. */
export function TemplatePreview({ shape, input }: Props) {
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        Preview
      </Text>
      <section aria-label="Preview">
        <div className={classes.preview}>
          <Parts shape={shape} input={input} />
        </div>
        {shape.cards.length > 0 && (
          <div className={classes.cards}>
            {shape.cards.map((card, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the cards of a template have no other name
              <div key={index} className={classes.preview}>
                <Parts shape={card} input={input.cards[index] ?? NO_INPUT} />
              </div>
            ))}
          </div>
        )}
      </section>
    </div>
  );
}

function Parts({ shape, input }: Props) {
  const { header, offer } = shape;
  return (
    <>
      {header?.text && (
        <Text size="sm" fw={700}>
          {fill(header.text, header.variable ? { [header.variable]: input.header } : {})}
        </Text>
      )}
      <HeaderPicture shape={shape} input={input} />
      {offer && (
        <Group gap={6} wrap="nowrap" mb={4} className={classes.previewHead}>
          <IconClock size={18} aria-hidden />
          <Text size="sm" fw={600}>
            {offer.text}
            {offer.ends && input.ends && ` · until ${inFull(fromLocalInput(input.ends) ?? "")}`}
          </Text>
        </Group>
      )}
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
    </>
  );
}

function HeaderPicture({ shape: { need }, input }: Props) {
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
