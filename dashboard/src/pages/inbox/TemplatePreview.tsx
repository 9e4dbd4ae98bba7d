import { Text } from "@mantine/core";
import { fromLocalInput } from "../../shared/times";
import classes from "./Composer.module.css";
import { keyed } from "./keyed";
import { Words } from "./MessageBody";
import { FILE_LABELS } from "./TemplateFields";
import { HeaderPicture, Offer, ProductSections } from "./TemplateParts";
import { fill, NO_INPUT, sectionsOf, type TemplateInput, type TemplateShape } from "./templates";

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
  const sections = shape.buttonFields.some(({ field }) => field === "products") ? sectionsOf(input) : [];
  return (
    <>
      {header?.text && (
        <Text size="sm" fw={700}>
          {fill(header.text, header.variable ? { [header.variable]: input.header } : {})}
        </Text>
      )}
      <Heading shape={shape} input={input} />
      {offer && <Offer text={offer.text} ends={offer.ends ? fromLocalInput(input.ends) : null} />}
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
      {sections.length > 0 && <ProductSections sections={sections} />}
    </>
  );
}

function Heading({ shape: { need }, input }: Props) {
  if (need.kind === "none" || need.kind === "text") return null;
  if (need.kind === "location") return <HeaderPicture kind="location" name={input.place || "Location"} />;
  if (need.kind === "product") return <HeaderPicture kind="product" name={input.product || "Product"} />;
  return <HeaderPicture kind="file" name={input.file?.name ?? FILE_LABELS[need.kind]} />;
}
