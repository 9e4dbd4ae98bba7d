import { Kbd, Modal, Table } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";

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

export type Place = { id: string; channel: string };
type Props = {
  order: Place[];
  current: string | undefined;
  onOpen: (conversation: string, channel: string) => void;
};

/** The keyboard shortcuts of the inbox. They do nothing while a text is being written. */
export function Shortcuts({ order, current, onOpen }: Props) {
  const [opened, list] = useDisclosure();
  const step = (by: number) => {
    const index = current ? order.findIndex(({ id }) => id === current) : -1;
    const next = order[index === -1 ? 0 : index + by];
    if (next) onOpen(next.id, next.channel);
  };
  const focus = (id: string) => document.getElementById(id)?.focus();
  useHotkeys([
    ["shift+?", list.open],
    ["j", () => step(1)],
    ["k", () => step(-1)],
    ["r", () => focus(COMPOSER_FIELD)],
    ["e", () => document.getElementById(CLOSE_BUTTON)?.click()],
  ]);
  useHotkeys([["mod+K", () => focus(SEARCH_FIELD)]], []);
  return (
    <Modal opened={opened} onClose={list.close} title="Keyboard shortcuts" size="sm">
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
    </Modal>
  );
}
