const WORDS: Record<string, string> = {
  connected: "Connected",
  connecting: "Connecting",
  waiting_for_scan: "Waiting for the QR code to be scanned",
  disconnected: "Not connected",
  logged_out: "Logged out",
  banned: "Banned by the network",
  limited: "Limited by the network",
};

const COLORS: Record<string, string> = {
  connected: "green.6",
  connecting: "yellow.6",
  waiting_for_scan: "yellow.6",
  limited: "orange.6",
};

/** The state of a channel's connection in words. */
export function connectionWords(state: string): string {
  return WORDS[state] ?? state;
}

export function connectionColor(state: string): string {
  return COLORS[state] ?? "red.6";
}
