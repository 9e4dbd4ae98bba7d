import { Button } from "@mantine/core";
import { IconMessage } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";

/** A link to a conversation in the inbox. */
export function OpenConversation({ id }: { id: string }) {
  return (
    <Button
      variant="default"
      size="sm"
      leftSection={<IconMessage size={16} aria-hidden />}
      renderRoot={(props) => <Link {...props} to="/inbox" search={{ conversation: id }} />}
      w="fit-content"
    >
      Open the conversation
    </Button>
  );
}
