import { path, post } from "../../shared/api";
import { people } from "../../shared/resources";
import type { PhoneState } from "../phone";
import { Sheet } from "../ui/Sheet";
import { Action } from "./MessageSheet";

const CHOICES: [string, number | null][] = [
  ["For 1 minute", 60],
  ["For 10 minutes", 600],
  ["Until I end it", null],
];

/** How long the phone is offline: messages stay "sent" meanwhile. */
export function OfflineSheet({ phone }: { phone: PhoneState }) {
  return (
    <Sheet title="Be offline" onClose={phone.close}>
      <p>Messages to this person are not delivered meanwhile. They arrive afterwards.</p>
      <ul class="actions">
        {CHOICES.map(([label, seconds]) => (
          <Action
            key={label}
            icon="offline"
            label={label}
            onSelect={() => {
              phone.close();
              setOffline(phone, seconds);
            }}
          />
        ))}
      </ul>
    </Sheet>
  );
}

/** Take the person offline for some seconds; null: until it is ended; 0 ends it. */
export function setOffline(phone: PhoneState, seconds: number | null): Promise<boolean> {
  return phone.attempt(async () => {
    await post(path`people/${phone.person}/offline`, { seconds });
    await people.load();
  });
}
