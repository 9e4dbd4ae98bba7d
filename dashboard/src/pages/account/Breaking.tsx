import { Text } from "@mantine/core";

/** Text such as an e-mail address or an id, which may break anywhere. */
export function Breaking({ text }: { text: string }) {
  return (
    <Text span inherit style={{ overflowWrap: "anywhere" }}>
      {text}
    </Text>
  );
}
