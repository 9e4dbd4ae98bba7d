import { Text } from "@mantine/core";
import { IconPhoto } from "@tabler/icons-react";
import classes from "./PhonePreview.module.css";
import type { Bubble } from "./parts";
import { inPlainWords } from "./words";

/** A template as a person sees it on a phone. Everything is drawn as text. */
export function PhonePreview({ bubble }: { bubble: Bubble }) {
  return (
    <section className={classes.phone} aria-label="Preview">
      <div className={classes.bubble}>
        {bubble.media && (
          <div className={classes.media}>
            <IconPhoto size={28} stroke={1.5} aria-hidden />
            {inPlainWords(bubble.media)}
          </div>
        )}
        {bubble.header && <p className={classes.header}>{bubble.header}</p>}
        <p className={classes.body}>{bubble.body || "Your text appears here."}</p>
        {bubble.footer && <p className={classes.footer}>{bubble.footer}</p>}
      </div>
      {bubble.buttons.map((label, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two buttons may have the same text
        <div key={i} className={classes.button}>
          {label}
        </div>
      ))}
      {bubble.more.length > 0 && (
        <Text size="xs" mt="xs" c="dimmed">
          And: {bubble.more.map(inPlainWords).join(", ")}
        </Text>
      )}
    </section>
  );
}
