import type { FailureCount } from "./queries";

type Words = { title: string; advice: string };

/** Codes of the gateway itself. */
const OWN: Record<string, Words> = {
  expired: {
    title: "Waited longer than its time to live",
    advice: "The channel could not send in time. Look at its connection and limits, or send with a longer ttl.",
  },
  unknown_outcome: {
    title: "The network's answer was lost",
    advice: "The message may have arrived. Ask the recipient before you send it again.",
  },
  unreachable: {
    title: "The network was not reachable",
    advice: "Check the connection of the gateway to the network, then send again.",
  },
  link_failed: {
    title: "The file behind the link could not be fetched",
    advice: "Check that the link works without signing in, or upload the file.",
  },
};
const UNKNOWN = "Open one of these messages to see what the network reported.";

/** What went wrong. The network puts the code before its words, which is shown beside them. */
export function failureTitle({ code, title }: FailureCount): string {
  return title?.replace(`(#${code}) `, "") ?? OWN[code]?.title ?? `Error ${code}`;
}

export function failureAdvice({ code, advice }: FailureCount): string {
  return advice ?? OWN[code]?.advice ?? UNKNOWN;
}
