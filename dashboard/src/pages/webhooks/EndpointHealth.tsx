import { Text } from "@mantine/core";
import { Time } from "../../shared/ui/Time";
import type { Webhook } from "./queries";

/** How an endpoint is doing, in one sentence. */
export function EndpointHealth({ endpoint }: { endpoint: Webhook }) {
  const { state, failing_since, failures, succeeded_at, next_probe_at, reason } = endpoint;
  return (
    <Text size="sm" c="dimmed" mt={4}>
      {state === "disabled" && <>Nothing is sent. {reason}</>}
      {state === "paused" && (
        <>
          {reason}{" "}
          {next_probe_at && (
            <>
              Next try <Time value={next_probe_at} />.
            </>
          )}
        </>
      )}
      {state === "active" && failing_since && (
        <>
          {failures === 1 ? "The last attempt failed" : `The last ${failures} attempts failed`}, since{" "}
          <Time value={failing_since} />.
        </>
      )}
      {state === "active" &&
        !failing_since &&
        (succeeded_at ? (
          <>
            Last delivery <Time value={succeeded_at} />.
          </>
        ) : (
          "Nothing was delivered yet."
        ))}
    </Text>
  );
}
