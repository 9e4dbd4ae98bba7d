import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";

/** A link to everything that happened to a message. */
export function TraceLink({ message, label = "Trace of the message" }: { message: string; label?: string }) {
  return (
    <Anchor
      renderRoot={(props) => <Link to="/messages/$message" params={{ message }} {...props} />}
      size="sm"
      underline="always"
      w="fit-content"
    >
      {label}
    </Anchor>
  );
}
