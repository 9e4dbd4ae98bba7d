import { useSignal } from "@preact/signals";
import { Field } from "../../shared/Field";
import type { OpenChat } from "../phone";
import { Sheet } from "../ui/Sheet";

const ADDRESS = ["name", "phone_number", "address", "city", "in_pin_code"];
const EMPTY = { key: "", value: "" };

interface Props {
  chat: OpenChat;
  target: string;
  title: string;
  address: boolean;
}

/** The answers to a form. The sandbox does not know its screens, so the names of the answers are typed too. */
export function FormSheet({ chat, target, title, address }: Props) {
  const rows = useSignal(address ? ADDRESS.map((key) => ({ key, value: "" })) : [{ key: "answer", value: "" }]);
  const change = (at: number, difference: Partial<typeof EMPTY>) => {
    rows.value = rows.value.map((row, index) => (index === at ? { ...row, ...difference } : row));
  };
  const answers = Object.fromEntries(
    rows.value.filter((row) => row.key.trim() && row.value).map((row) => [row.key.trim(), row.value]),
  );
  const send = async () => {
    if (await chat.send({ type: "form", target, answers })) chat.phone.close();
  };
  return (
    <Sheet
      title={title}
      onClose={chat.phone.close}
      footer={
        <button type="button" class="button primary wide" disabled={!Object.keys(answers).length} onClick={send}>
          Send answers
        </button>
      }
    >
      {rows.value.map((row, at) =>
        address && at < ADDRESS.length ? (
          <Field label={row.key} value={row.value} onChange={(value) => change(at, { value })} autofocus={at === 0} />
        ) : (
          <div class="field-pair">
            <Field label="Name of the answer" value={row.key} onChange={(key) => change(at, { key })} />
            <Field label="Answer" value={row.value} onChange={(value) => change(at, { value })} autofocus={at === 0} />
          </div>
        ),
      )}
      <button
        type="button"
        class="button"
        onClick={() => {
          rows.value = [...rows.value, EMPTY];
        }}
      >
        Add an answer
      </button>
    </Sheet>
  );
}
