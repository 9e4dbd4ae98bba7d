import type { GatewayEvent } from "../shared/live/follow";

const TYPE = "system_notification";
const SEPARATE_MAX = 3; // more at once are one notification

export type Color = "teal" | "yellow" | "orange" | "red";
export type Place =
  | { to: "/webhooks"; search: { channel: string } }
  | { to: "/templates"; search: { channel: string; template?: string } }
  | { to: "/channels/$channelId"; params: { channelId: string } };

/** What a person is notified of: in words, how urgent it is, and where to see it. `kind`: the same is counted together. */
export type SystemNotification = { id: string; kind: string; text: string; color: Color; place: Place };

type Template = { id: string; name: string; language: string };
type Words = { kind: [one: string, many: string]; color: Color; text: (data: Record<string, unknown>) => string };

const endpoint = (one: string, many: string, color: Color, words = one): Words => ({
  kind: [`endpoint ${one}`, `endpoints ${many}`],
  color,
  text: ({ url }) => `The endpoint ${hostOf(String(url))} ${words}.`,
});

const template = (one: string, color: Color, words: string): Words => ({
  kind: [`template ${one}`, `templates ${one}`],
  color,
  text: (data) => `The template ${(data as Template).name} (${(data as Template).language}) ${words}.`,
});

const WORDS: Record<string, Words> = {
  endpoint_failing: endpoint("fails", "fail", "yellow"),
  endpoint_paused: endpoint("paused", "paused", "orange", "is paused, because deliveries fail"),
  endpoint_resumed: endpoint("resumed", "resumed", "teal", "accepts deliveries again"),
  endpoint_disabled: endpoint("turned off", "turned off", "red", "was turned off"),
  endpoint_enabled: endpoint("turned on", "turned on", "teal", "was turned on"),
  endpoint_exhausted: {
    kind: ["endpoint missed deliveries", "endpoints missed deliveries"],
    color: "orange",
    text: ({ exhausted, url }) =>
      `${exhausted} ${exhausted === 1 ? "delivery" : "deliveries"} to ${hostOf(String(url))} failed for good.`,
  },
  template_approved: template("approved", "teal", "is approved"),
  template_rejected: template("rejected", "red", "was rejected"),
  template_paused: template("paused", "orange", "is paused because of its quality"),
  template_disabled: template("disabled", "red", "was disabled"),
  number_quality_changed: {
    kind: ["new quality", "new qualities"],
    color: "yellow",
    text: ({ quality, previous }) =>
      `The quality of the number is ${qualityWord(quality)} (before: ${qualityWord(previous)}).`,
  },
  number_tier_changed: {
    kind: ["new tier", "new tiers"],
    color: "teal",
    text: ({ tier, previous }) => `The number may open ${tierWords(tier)} a day (before: ${limitWord(previous)}).`,
  },
};

/** The notification of an event for people who operate the channel; null if it is not for them. */
export function notificationOf(event: GatewayEvent): SystemNotification | null {
  const words = event.type === TYPE ? WORDS[event.action] : undefined;
  if (!words) return null;
  return {
    id: event.id,
    kind: event.action,
    text: words.text(event.data),
    color: colorOf(event, words.color),
    place: placeOf(event),
  };
}

const QUALITY_COLORS: Record<string, Color> = { GREEN: "teal", RED: "red" };

function colorOf({ action, data }: GatewayEvent, color: Color): Color {
  if (action === "number_quality_changed") return QUALITY_COLORS[String(data.quality)] ?? color;
  if (action === "number_tier_changed") return isLess(data.tier, data.previous) ? "orange" : color;
  return color;
}

/** Whether a tier is lower than another; 0 is no limit. */
function isLess(tier: unknown, previous: unknown): boolean {
  return (Number(tier) || Number.POSITIVE_INFINITY) < (Number(previous) || Number.POSITIVE_INFINITY);
}

function placeOf({ action, channel: { id }, data }: GatewayEvent): Place {
  if (action.startsWith("endpoint_")) return { to: "/webhooks", search: { channel: id } };
  if (action.startsWith("template_")) return { to: "/templates", search: { channel: id, template: String(data.id) } };
  return { to: "/channels/$channelId", params: { channelId: id } };
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

const QUALITIES: Record<string, string> = { GREEN: "high", YELLOW: "medium", RED: "low" };

function qualityWord(quality: unknown): string {
  return QUALITIES[String(quality)] ?? "not rated";
}

function limitWord(tier: unknown): string {
  return Number(tier) ? Number(tier).toLocaleString("en") : "no limit";
}

function tierWords(tier: unknown): string {
  return Number(tier) ? `${limitWord(tier)} conversations` : "any number of conversations";
}

const URGENCY: Color[] = ["teal", "yellow", "orange", "red"];

/** What came at once: each for itself, or if it is much, one that counts them and leads to the most urgent. */
export function grouped(list: SystemNotification[]): SystemNotification[] {
  const [first, ...others] = list;
  if (!first || list.length <= SEPARATE_MAX) return list;
  const urgent = others.reduce((one, next) => (rank(next) > rank(one) ? next : one), first);
  const counts = new Map<string, number>();
  for (const { kind } of list) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const parts = [...counts].map(([kind, count]) => `${count} ${WORDS[kind]?.kind[count === 1 ? 0 : 1] ?? kind}`);
  return [{ ...urgent, kind: "many", text: `${parts.join(", ")}.` }];
}

function rank({ color }: SystemNotification): number {
  return URGENCY.indexOf(color);
}
