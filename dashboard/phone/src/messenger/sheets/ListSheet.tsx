import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { OpenChat } from "../phone";
import type { List } from "../types";
import { Sheet } from "../ui/Sheet";

/** The rows of a list; one is chosen and sent. */
export function ListSheet({ chat, list, target }: { chat: OpenChat; list: List; target: string }) {
  const chosen = useSignal("");
  const name = useId();
  const send = async () => {
    if (await chat.send({ type: "row", target, row: chosen.value })) chat.phone.close();
  };
  return (
    <Sheet
      title={list.button}
      onClose={chat.phone.close}
      footer={
        <button type="button" class="button primary wide" disabled={!chosen.value} onClick={send}>
          Send
        </button>
      }
    >
      {list.sections.map((section) => (
        <fieldset class="list-section">
          <legend class={section.title ? "" : "visually-hidden"} dir="auto">
            {section.title || list.button}
          </legend>
          {section.rows.map((row) => (
            <label class="list-row">
              <span>
                <span class="list-title" dir="auto">
                  {row.title}
                </span>
                {row.description ? (
                  <span class="file-details" dir="auto">
                    {row.description}
                  </span>
                ) : null}
              </span>
              <input
                type="radio"
                name={name}
                checked={chosen.value === row.id}
                onChange={() => {
                  chosen.value = row.id;
                }}
              />
            </label>
          ))}
        </fieldset>
      ))}
    </Sheet>
  );
}
