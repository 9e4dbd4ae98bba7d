import { Kbd, Table } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { useRef } from "react";
import { Dialog } from "../../shared/ui/Dialog";
import { type Place, stepFrom } from "./steps";

export const SEARCH_FIELD = "inbox-search";
export const COMPOSER_FIELD = "inbox-composer";
export const CLOSE_BUTTON = "inbox-close";

const LIST: [string, string][] = [
  ["?", "Show this list"],
  ["Ctrl K", "Search"],
  ["j", "Next conversation"],
  ["k", "Previous conversation"],
  ["r", "Write a reply"],
  ["e", "Close the conversation, or open it again"],
  ["Esc", "Leave the text field"],
  ["Enter", "Send"],
  ["Shift Enter", "New line"],
];

const BUSY = '[role="dialog"], [role="menu"]';

type Props = {
  order: Place[];
  current: string | undefined;
  onOpen: (conversation: string, channel: string) => void;
};

/** The keyboard shortcuts of the inbox. They do nothing while a text is being written, nor in dialogs and menus. */
export function Shortcuts({ order, current, onOpen }: Props) {
  const [opened, list] = useDisclosure();
  const last = useRef(0); // the place of the open conversation, also when it is not listed any more
  const index = order.findIndex(({ id }) => id === current);
  if (index !== -1) last.current = index;
  const step = (by: 1 | -1) => {
    const next = stepFrom(order, current, last.current, by);
    if (next) onOpen(next.id, next.channel);
  };
  const focus = (id: string) => document.getElementById(id)?.focus();
  const outside = (act: () => void) => (event: KeyboardEvent) => {
    if (!(event.target instanceof Element && event.target.closest(BUSY))) act();
  };
  useHotkeys([
    ["shift+?", outside(list.open)],
    ["j", outside(() => step(1))],
    ["k", outside(() => step(-1))],
    ["r", outside(() => focus(COMPOSER_FIELD))],
    ["e", outside(() => document.getElementById(CLOSE_BUTTON)?.click())],
  ]);
  useHotkeys([["mod+K", () => focus(SEARCH_FIELD)]], []);
  return (
    <Dialog opened={opened} onClose={list.close} title="Keyboard shortcuts" size="sm">
      <Table>
        <Table.Tbody>
          {LIST.map(([keys, what]) => (
            <Table.Tr key={keys}>
              <Table.Td w={130}>
                {keys.split(" ").map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
              <Table.Td>{what}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Dialog>
  );
}
