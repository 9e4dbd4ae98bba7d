import { Button, Group, Loader, Text } from "@mantine/core";
import { IconCircleCheck, IconPlugConnectedX } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import classes from "./Inbox.module.css";
import type { Live } from "./live";

const SHOWN_MS = 5_000;

/** Says that the live connection is lost, and that it is back with everything that was missed. */
export function LiveNotice({ live: { state, lostOnce } }: { live: Live }) {
  const [back, setBack] = useState(false);
  useEffect(() => {
    if (state !== "live" || !lostOnce) return;
    setBack(true);
    const timer = setTimeout(() => setBack(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state, lostOnce]);
  return (
    <div role="status">
      {state === "lost" && (
        <Group className={classes.notice} data-look="lost" gap="xs">
          <Loader size={14} color="currentColor" />
          <Text size="sm">The live connection is lost. What happens meanwhile appears when it is back.</Text>
        </Group>
      )}
      {state === "refused" && (
        <Group className={classes.notice} data-look="lost" gap="xs">
          <IconPlugConnectedX size={16} aria-hidden />
          <Text size="sm">New messages do not appear live.</Text>
          <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
            Connect again
          </Button>
        </Group>
      )}
      {state === "live" && back && (
        <Group className={classes.notice} data-look="back" gap="xs">
          <IconCircleCheck size={16} aria-hidden />
          <Text size="sm">Connected again. Nothing was missed.</Text>
        </Group>
      )}
    </div>
  );
}
