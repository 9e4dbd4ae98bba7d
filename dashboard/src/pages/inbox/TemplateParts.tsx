import { Group, Text } from "@mantine/core";
import { IconClock, IconFile, IconMapPin, IconShoppingBag } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { inFull } from "../../shared/times";
import type { Section } from "./content";
import { keyed } from "./keyed";
import classes from "./Thread.module.css";

// The parts of a template that look the same in the thread and in the preview of the composer.

/** A limited-time offer, and when it ends. */
export function Offer({ text = "Offer", ends }: { text?: string; ends: string | null | undefined }) {
  return (
    <Group gap={6} wrap="nowrap" mb={4} className={classes.words}>
      <IconClock size={18} aria-hidden />
      <Text size="sm" fw={600}>
        {text}
        {ends && ` · until ${inFull(ends)}`}
      </Text>
    </Group>
  );
}

const HEADERS = { location: IconMapPin, product: IconShoppingBag, file: IconFile };

/** The heading of a template that is a place, a product or a file that is not uploaded yet. */
export function HeaderPicture({ kind, name }: { kind: keyof typeof HEADERS; name: string }) {
  const Picture = HEADERS[kind];
  return (
    <Group gap={6} wrap="nowrap" mb={4} className={classes.words}>
      <Picture size={20} aria-hidden />
      <Text size="sm">{name}</Text>
    </Group>
  );
}

/** Products by their ids. */
export function ProductSections({ sections, children }: { sections: Section[]; children?: ReactNode }) {
  return (
    <div className={classes.card}>
      <IconShoppingBag size={24} stroke={1.5} aria-hidden />
      <div>
        <Sections sections={sections} />
        {children}
      </div>
    </div>
  );
}

export function Sections({ sections }: { sections: Section[] }) {
  return keyed(sections).map(({ key, item: { title, rows } }) => (
    <div key={key} className={classes.section}>
      {title && (
        <Text size="xs" fw={600} c="dimmed">
          {title}
        </Text>
      )}
      {keyed(rows).map(({ key, item: row }) => (
        <div key={key}>
          <Text size="sm">{row.title}</Text>
          {row.description && (
            <Text size="xs" c="dimmed">
              {row.description}
            </Text>
          )}
        </div>
      ))}
    </div>
  ));
}
