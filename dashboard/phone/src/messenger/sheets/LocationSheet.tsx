import { useSignal } from "@preact/signals";
import { Field } from "../../shared/Field";
import { degrees } from "../logic/place";
import type { OpenChat } from "../phone";
import { Sheet } from "../ui/Sheet";

/** A place that the person sends. */
export function LocationSheet({ chat, quote }: { chat: OpenChat; quote?: string }) {
  const latitude = useSignal("-23.55052");
  const longitude = useSignal("-46.63331");
  const name = useSignal("");
  const address = useSignal("");
  const [north, east] = [degrees(latitude.value, 90), degrees(longitude.value, 180)];
  const send = async () => {
    if (north === null || east === null) return;
    const place = {
      latitude: north,
      longitude: east,
      ...named("name", name.value),
      ...named("address", address.value),
    };
    if (await chat.send({ type: "location", ...place, ...(quote ? { quote } : {}) })) chat.phone.close();
  };
  return (
    <Sheet
      title="Send a location"
      onClose={chat.phone.close}
      footer={
        <button type="button" class="button primary wide" disabled={north === null || east === null} onClick={send}>
          Send location
        </button>
      }
    >
      <div class="field-pair">
        <Field
          label="Latitude"
          inputMode="decimal"
          value={latitude.value}
          onChange={(value) => (latitude.value = value)}
          autofocus
        />
        <Field
          label="Longitude"
          inputMode="decimal"
          value={longitude.value}
          onChange={(value) => (longitude.value = value)}
        />
      </div>
      {north === null || east === null ? <p class="hint">Degrees, such as -23.55052 and -46.63331.</p> : null}
      <Field label="Name (optional)" value={name.value} onChange={(value) => (name.value = value)} />
      <Field label="Address (optional)" value={address.value} onChange={(value) => (address.value = value)} />
    </Sheet>
  );
}

function named(key: "name" | "address", value: string): Record<string, string> {
  return value.trim() ? { [key]: value.trim() } : {};
}
