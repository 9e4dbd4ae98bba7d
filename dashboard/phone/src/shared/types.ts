/** The shapes of the sandbox's control API. */

export type Network = "official" | "qr";
export type Reads = "automatic" | "when_open" | "never";
export type Status = "accepted" | "sent" | "delivered" | "read" | "played" | "failed";
export type Side = "person" | "business";

export interface ChatNumber {
  id: string;
  network: Network;
  phone: string;
  name: string;
}

export interface Chat {
  person: string;
  name: string;
  number: ChatNumber;
  unread: number;
  last: Message | null;
  typing: boolean; // the business types
  presence: Presence | null; // null: nothing is known of it
  blocked: boolean;
  marketing_stopped: boolean;
  window_ends_at: number | null;
}

/** Whether a business is online; with `until`, only so long. */
export interface Presence {
  online: boolean;
  until: number | null;
  last_seen: number | null;
}

export interface Message {
  id: string;
  seq: number;
  from: Side;
  at: number;
  type: string;
  view: View;
  status: Status;
  error: { code: number; title: string } | null;
  quote: { id: string; from: Side | null; text: string; type: string } | null; // from null: it is not known
  reactions: { from: Side; emoji: string }[];
  edited: boolean;
  deleted: boolean;
  forwarded: boolean;
}

export interface Media {
  kind: "image" | "video" | "audio" | "document" | "sticker";
  url: string | null;
  link: string | null; // of another host: not fetched
  mime_type?: string | null;
  filename?: string | null;
  size?: number | null;
  voice?: boolean;
  animated?: boolean;
}

export interface Button {
  id: string;
  title: string;
  kind:
    | "reply"
    | "quick_reply"
    | "url"
    | "call"
    | "copy_code"
    | "flow"
    | "address"
    | "request_location"
    | "request_contact"
    | "catalog"
    | "other";
  value?: string | null;
}

export interface Row {
  id: string;
  title: string;
  description?: string | null;
}

export interface View {
  text?: string;
  header?: { text?: string; media?: Media };
  footer?: string;
  media?: Media;
  location?: { latitude: number; longitude: number; name?: string | null; address?: string | null };
  contacts?: { name: string; phones?: string[]; emails?: string[]; organization?: string | null }[];
  buttons?: Button[];
  list?: { button: string; sections: { title?: string | null; rows: Row[] }[] };
  products?: { catalog_id: string; sections: { title?: string | null; items: { id: string }[] }[] };
  cards?: View[];
  offer?: { text: string; expires_at?: number | null };
  poll?: { name: string; options: string[]; selectable: number; votes: string[] };
  order?: {
    catalog_id: string;
    text?: string | null;
    items: { id: string; quantity: number; price: number | string; currency: string }[];
  };
  reply?: { id: string; title: string; description?: string | null };
  form?: Record<string, unknown>;
  call?: unknown;
  unsupported?: boolean;
}

export interface Reply {
  text?: string;
  pattern?: string;
  on?: string;
  delay?: number;
  times?: number | null;
  tap?: number | string | null;
  pick?: number | string | null;
  react?: string | null;
  order?: Record<string, unknown> | null;
  submit?: Record<string, unknown> | null;
  send?: Record<string, unknown> | null;
}

export interface Person {
  phone: string;
  name: string;
  character: string;
  reads?: Reads;
  offline?: boolean;
  offline_until?: number | null; // null while offline: until it is ended
  replies: Reply[];
  user_id: string | null;
  username: string | null;
  phone_hidden: boolean;
  identity_hash: string | null;
}

export interface BusinessNumber {
  phone_number_id: string;
  phone: string;
  name: string;
  token: string;
  app_secret: string;
  callback_url: string | null;
  verify_token: string;
  waba_id: string;
  quality_rating: string;
  status: string;
  limits: Record<string, unknown>;
  effective: { limits: { window: boolean | string; tier: number | null; throughput: number | null } };
}

export interface QrPhone {
  phone: string;
  name: string;
  auto_scan: number | null;
  lid: string;
  locked_until: number | null;
  banned: boolean;
  sessions: string[];
}

export interface Session {
  session: string;
  phone: string | null;
  state: string;
  reason: string;
  code: string | null;
  pairing_code: string | null;
  last_seq: number;
  waiting: number;
}

export interface Template {
  id: string;
  waba_id: string;
  name: string;
  language: string;
  category: string;
  status: string;
  components: Record<string, unknown>[];
  rejected_reason?: string;
  quality?: string;
}

export type Rule = { id: string; fault: string; seen: number; struck: number; held: number } & Record<string, unknown>;

export interface Clock {
  now: number;
  frozen: boolean;
  speed: number;
  waiting: number;
}

export interface Settings {
  delays: { delivered: number; read: number } & Record<string, unknown>;
  limits: {
    window: boolean | string;
    throughput: number | null;
    marketing: number | null;
  } & Record<string, unknown>;
  management: { review: "auto" | "manual" } & Record<string, unknown>;
  default_character: string;
}

export type LedgerRow = { seq: number; at: number; kind: string } & Record<string, unknown>;
