import { Anchor } from "@mantine/core";

type Props = { text: string; onOpen: () => void };

/** The words of a notification, and a button that leads to what it is about. */
export function NewsText({ text, onOpen }: Props) {
  return (
    <>
      {text}{" "}
      <Anchor component="button" type="button" inherit underline="always" onClick={onOpen}>
        Show
      </Anchor>
    </>
  );
}
