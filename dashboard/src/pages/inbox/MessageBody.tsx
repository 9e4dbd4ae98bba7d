import { Anchor, Badge, Code, Spoiler, Table, Text } from "@mantine/core";
import { IconExternalLink, IconList, IconMapPin, IconUser } from "@tabler/icons-react";
import { money } from "../../shared/money";
import { number } from "../../shared/numbers";
import type { Body, Card, Header, HeaderObject, TemplateValues } from "./content";
import { FileBody } from "./FileBody";
import { keyed } from "./keyed";
import { findLinks, safeLink } from "./links";
import { useTemplates } from "./queries";
import { HeaderPicture, Offer, ProductSections, Sections } from "./TemplateParts";
import classes from "./Thread.module.css";
import { fill, readTemplate, type TemplateShape } from "./templates";

/** What a message says. Everything that people wrote is drawn as text. */
export function MessageBody({ body }: { body: Body }) {
  switch (body.kind) {
    case "text":
      return <Words text={body.text} />;
    case "event":
      return <Words text={body.text} />;
    case "deleted":
      return (
        <Text size="sm" c="dimmed" fs="italic">
          This message was deleted
        </Text>
      );
    case "file":
      return (
        <>
          <FileBody look={body.look} file={body.file} voice={body.voice} />
          {body.caption && <Words text={body.caption} />}
        </>
      );
    case "location":
      return <Location {...body} />;
    case "contacts":
      return keyed(body.cards).map(({ key, item }) => <ContactCard key={key} card={item} />);
    case "choices":
      return <Choices {...body} />;
    case "products":
      return <Products {...body} />;
    case "template":
      return <TemplateBody {...body} />;
    case "order":
      return <Order {...body} />;
    case "poll":
      return <Poll {...body} />;
    case "reply":
      return (
        <>
          <Words text={body.title} />
          {body.description && (
            <Text size="xs" c="dimmed" className={classes.words}>
              {body.description}
            </Text>
          )}
        </>
      );
    case "unknown":
      return <Unknown {...body} />;
  }
}

/** Text with its line breaks; addresses of http and https become links. */
export function Words({ text }: { text: string }) {
  return (
    <p className={classes.words}>
      {keyed(findLinks(text)).map(({ key, item: part }) =>
        part.href ? (
          <Anchor key={key} href={part.href} target="_blank" rel="noopener noreferrer" underline="always" inherit>
            {part.text}
          </Anchor>
        ) : (
          part.text
        ),
      )}
    </p>
  );
}

function Location({ latitude, longitude, name, address }: Extract<Body, { kind: "location" }>) {
  return (
    <div className={classes.card}>
      <IconMapPin size={26} stroke={1.5} aria-hidden />
      <div>
        <Text size="sm" fw={600} className={classes.words}>
          {name || "Location"}
        </Text>
        {address && (
          <Text size="sm" className={classes.words}>
            {address}
          </Text>
        )}
        <Text size="xs" c="dimmed">
          {latitude.toFixed(5)}, {longitude.toFixed(5)}
        </Text>
        <Anchor size="xs" href={`geo:${latitude},${longitude}`}>
          Open in a map app
        </Anchor>
      </div>
    </div>
  );
}

function ContactCard({ card }: { card: Card }) {
  return (
    <div className={classes.card}>
      <IconUser size={26} stroke={1.5} aria-hidden />
      <div>
        <Text size="sm" fw={600} className={classes.words}>
          {card.name}
        </Text>
        {card.company && <Text size="sm">{card.company}</Text>}
        {keyed(card.lines).map(({ key, item: line }) => (
          <Text key={key} size="sm" className={classes.words}>
            {line}
          </Text>
        ))}
        {keyed(card.urls).map(({ key, item: url }) => (
          <Words key={key} text={url} />
        ))}
      </div>
    </div>
  );
}

function Choices({ header, text, footer, buttons, list }: Extract<Body, { kind: "choices" }>) {
  return (
    <>
      {header?.text && (
        <Text size="sm" fw={700} className={classes.words}>
          {header.text}
        </Text>
      )}
      {header?.file && <FileBody look={header.look} file={header.file} voice={false} />}
      <Words text={text} />
      {footer && <Footer text={footer} />}
      {keyed(buttons).map(({ key, item }) => (
        <Choice key={key} {...item} />
      ))}
      {list && (
        <>
          <div className={classes.choice}>
            <IconList size={15} aria-hidden /> {list.button}
          </div>
          <Sections sections={list.sections} />
        </>
      )}
    </>
  );
}

function Choice({ title, url }: { title: string; url: string | null }) {
  const href = safeLink(url);
  if (!href) return <div className={classes.choice}>{title}</div>;
  return (
    <Anchor className={classes.choice} href={href} target="_blank" rel="noopener noreferrer" size="sm">
      <IconExternalLink size={15} aria-hidden /> {title}
    </Anchor>
  );
}

function Footer({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" className={classes.words}>
      {text}
    </Text>
  );
}

function Products({ text, catalog, sections }: Extract<Body, { kind: "products" }>) {
  return (
    <>
      {text && <Words text={text} />}
      <ProductSections sections={sections}>
        {catalog && (
          <Text size="xs" c="dimmed">
            Catalogue {catalog}
          </Text>
        )}
      </ProductSections>
    </>
  );
}

/** A template with its values. Without the template's text, its name and values are shown. */
function TemplateBody({ name, language, values }: Extract<Body, { kind: "template" }>) {
  const { data: templates } = useTemplates(true);
  const template = templates?.find((one) => one.name === name && one.language === language);
  const shape = template && readTemplate(template);
  return (
    <>
      <TemplatePart shape={shape} values={values} />
      {values.cards.length > 0 && (
        <div className={classes.cards}>
          {keyed(values.cards).map(({ key, item }, index) => (
            <div key={key} className={classes.templateCard}>
              <TemplatePart shape={shape?.cards[index]} values={item} />
            </div>
          ))}
        </div>
      )}
      <Badge size="xs" variant="default" mt={4}>
        Template {name}
      </Badge>
    </>
  );
}

/** The parts of a template, or of one of its cards. */
function TemplatePart({ shape, values }: { shape: TemplateShape | undefined; values: TemplateValues }) {
  const given = Array.isArray(values.variables) ? values.variables : Object.values(values.variables);
  const { header } = values;
  return (
    <>
      {shape?.header?.text && (
        <Text size="sm" fw={700} className={classes.words}>
          {fill(shape.header.text, typeof header === "string" ? headerValues(shape.header.variable, header) : [])}
        </Text>
      )}
      {header && typeof header === "object" && <TemplateHeader header={header} />}
      {shape?.offer ? (
        <Offer text={shape.offer.text} ends={values.ends} />
      ) : (
        values.ends && <Offer ends={values.ends} />
      )}
      {shape ? (
        <Words text={fill(shape.body, values.variables)} />
      ) : (
        given.length > 0 && <Words text={given.join(" · ")} />
      )}
      {shape?.footer && <Footer text={shape.footer} />}
      {shape && keyed(shape.buttons).map(({ key, item }) => <Choice key={key} title={item} url={null} />)}
      {values.sections.length > 0 && <ProductSections sections={values.sections} />}
    </>
  );
}

function TemplateHeader({ header }: { header: Header | HeaderObject }) {
  if ("kind" in header) return <HeaderPicture {...header} />;
  return header.file && <FileBody look={header.look} file={header.file} voice={false} />;
}

function headerValues(variable: string | null, value: string): Record<string, string> {
  return variable ? { [variable]: value } : {};
}

const NUMBER = { ta: "right", style: { whiteSpace: "nowrap" } } as const; // never broken into two numbers

function Order({ text, lines }: Extract<Body, { kind: "order" }>) {
  return (
    <>
      <Text size="sm" fw={600}>
        Order
      </Text>
      {text && <Words text={text} />}
      <Table verticalSpacing={4} horizontalSpacing={4} fz="sm" style={{ overflowWrap: "anywhere" }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Product</Table.Th>
            <Table.Th {...NUMBER}>Qty</Table.Th>
            <Table.Th {...NUMBER}>Price</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keyed(lines).map(({ key, item: line }) => (
            <Table.Tr key={key}>
              <Table.Td>{line.product}</Table.Td>
              <Table.Td {...NUMBER}>{number(line.quantity)}</Table.Td>
              <Table.Td {...NUMBER}>{money(line.price, line.currency)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </>
  );
}

function Poll({ question, options, multiple }: Extract<Body, { kind: "poll" }>) {
  return (
    <>
      <Text size="sm" fw={600} className={classes.words}>
        {question}
      </Text>
      <Text size="xs" c="dimmed">
        {multiple ? "Poll, several answers" : "Poll, one answer"}
      </Text>
      {keyed(options).map(({ key, item: option }) => (
        <div key={key} className={classes.option}>
          {option}
        </div>
      ))}
    </>
  );
}

function Unknown({ type, title, details, original }: Extract<Body, { kind: "unknown" }>) {
  return (
    <>
      <Text size="sm" fs="italic">
        A message of the type “{type}”, which cannot be shown here.
      </Text>
      {(title || details) && (
        <Text size="xs" c="dimmed" className={classes.words}>
          {[title, details].filter(Boolean).join(": ")}
        </Text>
      )}
      <Spoiler maxHeight={0} showLabel="Show what came" hideLabel="Hide" mt={4}>
        <Code block fz="xs">
          {original}
        </Code>
      </Spoiler>
    </>
  );
}
