import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Message } from "../../shared/types";
import { counted } from "../logic/words";
import { useOpenChat } from "../phone";
import { CartSheet } from "../sheets/CartSheet";
import { ListSheet } from "../sheets/ListSheet";
import type { List, Poll, Products } from "../types";
import { Icon } from "../ui/Icon";

/** The button that opens a list. */
export function ListButton({ list, message }: { list: List; message: Message }) {
  const chat = useOpenChat();
  return (
    <div class="bubble-buttons">
      <button
        type="button"
        class="bubble-button"
        aria-haspopup="dialog"
        onClick={() => chat.phone.show(<ListSheet chat={chat} list={list} target={message.id} />)}
      >
        <Icon name="list" size={18} /> <span dir="auto">{list.button}</span>
      </button>
    </div>
  );
}

/** The products of a message, and the button to order some of them. */
export function ProductsCard({ products, message }: { products: Products; message: Message }) {
  const chat = useOpenChat();
  const ids = products.sections.flatMap((section) => section.items.map((item) => item.id));
  return (
    <div class="products-card">
      <p class="products-row">
        <span class="file-icon">
          <Icon name="cart" size={22} />
        </span>
        <span class="file-text">
          <span class="file-name">{ids.length ? counted(ids.length, "product") : "Catalogue"}</span>
          <span class="file-details">{ids.slice(0, 3).join(", ") || products.catalog_id}</span>
        </span>
      </p>
      <div class="bubble-buttons">
        <button
          type="button"
          class="bubble-button"
          aria-haspopup="dialog"
          onClick={() => chat.phone.show(<CartSheet chat={chat} target={message.id} products={products} />)}
        >
          <Icon name="cart" size={18} /> View and order
        </button>
      </div>
    </div>
  );
}

/** A poll: a choice is sent at once. */
export function PollCard({ poll, message }: { poll: Poll; message: Message }) {
  const chat = useOpenChat();
  const name = useId();
  const pending = useSignal<string[] | null>(null);
  const chosen = pending.value ?? poll.votes ?? [];
  const single = poll.selectable === 1;
  const own = message.from === "person";
  const vote = async (option: string, on: boolean) => {
    const others = single ? [] : chosen.filter((one) => one !== option);
    pending.value = on ? [...others, option] : others;
    await chat.send({ type: "vote", target: message.id, options: pending.value });
    pending.value = null;
  };
  return (
    <fieldset class="poll-card">
      <legend dir="auto">{poll.name}</legend>
      <p class="file-details">{single ? "Choose one" : "Choose one or more"}</p>
      {poll.options.map((option) => (
        <label>
          <input
            type={single ? "radio" : "checkbox"}
            name={name}
            checked={chosen.includes(option)}
            disabled={own}
            onChange={(event) => vote(option, event.currentTarget.checked)}
          />
          <span dir="auto">{option}</span>
        </label>
      ))}
    </fieldset>
  );
}
