import { Text } from "@mantine/core";
import { Fragment } from "react";

/** Text such as an e-mail address or an id: it breaks after its signs, and elsewhere only where a part is too long. */
export function Breaking({ text }: { text: string }) {
  return (
    <Text span inherit display="inline-block" miw="12ch" style={{ overflowWrap: "anywhere" }}>
      {text.split(/(?<=[@.])/).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never move
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </Text>
  );
}
