/** What a person sends: the body of `POST /control/chats/{person}/{number}/send`. */

import type { Media, View } from "../shared/types";

export type Contact = NonNullable<View["contacts"]>[number];
export type Place = NonNullable<View["location"]>;
export type Products = NonNullable<View["products"]>;
export type Order = NonNullable<View["order"]>;
export type Poll = NonNullable<View["poll"]>;
export type List = NonNullable<View["list"]>;
export type MediaKind = Media["kind"];

export interface OrderItem {
  id: string;
  quantity: number;
  price: number;
  currency: string;
}

interface SentMedia {
  type: "media";
  kind: MediaKind;
  data: string; // base64
  mime_type: string;
  filename?: string;
  caption?: string;
  voice?: boolean;
}

type Content =
  | { type: "text"; text: string }
  | SentMedia
  | { type: "location"; latitude: number; longitude: number; name?: string; address?: string }
  | { type: "contact"; name: string; phone: string }
  | { type: "reaction"; target: string; emoji: string }
  | { type: "button"; target: string; button: string }
  | { type: "row"; target: string; row: string }
  | { type: "order"; target: string | null; catalog_id: string; items: OrderItem[]; text?: string }
  | { type: "vote"; target: string; options: string[] }
  | { type: "form"; target: string; answers: Record<string, string> }
  | { type: "edit"; target: string; text: string }
  | { type: "delete"; target: string };

export type Send = Content & { quote?: string };
