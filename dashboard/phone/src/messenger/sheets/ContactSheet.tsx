import { useSignal } from "@preact/signals";
import { Field } from "../../shared/Field";
import { people } from "../../shared/resources";
import type { OpenChat } from "../phone";
import { Sheet } from "../ui/Sheet";

/** A contact card that the person sends: at first the person's own. */
export function ContactSheet({ chat, quote }: { chat: OpenChat; quote?: string }) {
  const { person } = chat.phone;
  const own = people.value.peek()?.find((one) => one.phone === person);
  const name = useSignal(own?.name ?? "");
  const phone = useSignal(person);
  const ready = Boolean(name.value.trim()) && /^\+?[\d\s()-]{7,25}$/.test(phone.value.trim());
  const send = async () => {
    if (!ready) return;
    const card = { name: name.value.trim(), phone: phone.value.replace(/\D/g, "") };
    if (await chat.send({ type: "contact", ...card, ...(quote ? { quote } : {}) })) chat.phone.close();
  };
  return (
    <Sheet
      title="Send a contact"
      onClose={chat.phone.close}
      footer={
        <button type="button" class="button primary wide" disabled={!ready} onClick={send}>
          Send contact
        </button>
      }
    >
      <Field label="Name" value={name.value} onChange={(value) => (name.value = value)} onEnter={send} autofocus />
      <Field
        label="Phone number"
        inputMode="tel"
        value={phone.value}
        onChange={(value) => (phone.value = value)}
        onEnter={send}
      />
    </Sheet>
  );
}
