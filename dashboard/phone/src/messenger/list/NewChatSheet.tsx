import { numbers, phones, useResource } from "../../shared/resources";
import { openChat } from "../../shared/route";
import { phoneWord } from "../logic/words";
import type { PhoneState } from "../phone";
import { Avatar } from "../ui/Avatar";
import { Sheet } from "../ui/Sheet";

/** All numbers that the person can write to. */
export function NewChatSheet({ phone }: { phone: PhoneState }) {
  const official = useResource(numbers) ?? [];
  const linked = useResource(phones) ?? [];
  const all = [
    ...official.map((one) => ({ id: one.phone_number_id, phone: one.phone, name: one.name, kind: "Official number" })),
    ...linked.map((one) => ({ id: one.phone, phone: one.phone, name: one.name, kind: "Linked by QR code" })),
  ].filter((one) => one.phone !== phone.person);
  const choose = (id: string) => {
    phone.close();
    openChat(phone.person, id);
  };
  return (
    <Sheet title="New chat" onClose={phone.close}>
      <ul class="actions">
        {all.map((one) => (
          <li key={one.id}>
            <button type="button" class="sheet-action" onClick={() => choose(one.id)}>
              <Avatar name={one.name || one.phone} />
              <span class="file-text">
                <span class="file-name" dir="auto">
                  {one.name || phoneWord(one.phone)}
                </span>
                <span class="file-details">
                  {phoneWord(one.phone)} · {one.kind}
                </span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Sheet>
  );
}
