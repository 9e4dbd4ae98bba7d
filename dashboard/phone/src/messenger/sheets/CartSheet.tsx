import { useSignal } from "@preact/signals";
import { Field } from "../../shared/Field";
import {
  type Cart,
  cartProblem,
  type Line,
  money,
  newCart,
  orderItems,
  totals,
  withCurrency,
  withPrice,
  withProduct,
  withQuantity,
} from "../logic/cart";
import type { OpenChat } from "../phone";
import type { Products } from "../types";
import { IconButton } from "../ui/IconButton";
import { Sheet } from "../ui/Sheet";

interface Props {
  chat: OpenChat;
  target: string | null;
  products: Products;
}

/** What the person orders. The network's catalogue is not simulated, so prices are typed here. */
export function CartSheet({ chat, target, products }: Props) {
  const cart = useSignal<Cart>(newCart(products));
  const text = useSignal("");
  const problem = cartProblem(cart.value);
  const sum = totals(orderItems(cart.value))[0];
  const send = async () => {
    const note = text.value.trim();
    const order = {
      target,
      catalog_id: products.catalog_id,
      items: orderItems(cart.value),
      ...(note ? { text: note } : {}),
    };
    if (await chat.send({ type: "order", ...order })) chat.phone.close();
  };
  return (
    <Sheet
      title="Cart"
      onClose={chat.phone.close}
      footer={
        <>
          <p class="order-total">
            <span>Total</span>
            <strong>{sum ? money(sum.amount, sum.currency) : "–"}</strong>
          </p>
          <button type="button" class="button primary wide" disabled={problem !== null} onClick={send}>
            Send order
          </button>
        </>
      }
    >
      {products.sections.map((section) => (
        <Section
          title={section.title ?? ""}
          ids={section.items.map((item) => item.id)}
          cart={cart.value}
          change={(next) => (cart.value = next)}
        />
      ))}
      <Extra products={products} cart={cart.value} change={(next) => (cart.value = next)} />
      <div class="field-pair">
        <Field
          label="Currency"
          value={cart.value.currency}
          onChange={(value) => {
            cart.value = withCurrency(cart.value, value);
          }}
        />
        <Field label="Note to the business" value={text.value} onChange={(value) => (text.value = value)} />
      </div>
      {problem ? <p class="hint">{problem}</p> : null}
    </Sheet>
  );
}

interface Part {
  cart: Cart;
  change: (cart: Cart) => void;
}

function Section({ title, ids, cart, change }: Part & { title: string; ids: string[] }) {
  const lines = cart.lines.filter((line) => ids.includes(line.id));
  return (
    <section class="cart-section" aria-label={title || "Products"}>
      {title ? <h3 dir="auto">{title}</h3> : null}
      <Lines lines={lines} cart={cart} change={change} />
    </section>
  );
}

/** Products that the message does not name: any of the catalogue may be ordered. */
function Extra({ products, cart, change }: Part & { products: Products }) {
  const id = useSignal("");
  const shown = new Set(products.sections.flatMap((section) => section.items.map((item) => item.id)));
  const add = () => {
    change(withProduct(cart, id.value));
    id.value = "";
  };
  return (
    <section class="cart-section" aria-label="Other products">
      <Lines lines={cart.lines.filter((line) => !shown.has(line.id))} cart={cart} change={change} />
      <div class="field-pair">
        <Field
          label="Add a product by its id"
          value={id.value}
          onChange={(value) => (id.value = value)}
          onEnter={add}
        />
        <button type="button" class="button" disabled={!id.value.trim()} onClick={add}>
          Add
        </button>
      </div>
    </section>
  );
}

function Lines({ lines, cart, change }: Part & { lines: Line[] }) {
  return (
    <ul>
      {lines.map((line) => (
        <li class="cart-line" key={line.id}>
          <span class="cart-name" dir="auto">
            {line.id}
          </span>
          <label>
            <span class="visually-hidden">Price of {line.id}</span>
            <input
              type="number"
              class="cart-price"
              min={0}
              step="0.01"
              value={line.price}
              onChange={(event) => change(withPrice(cart, line.id, event.currentTarget.valueAsNumber))}
            />
          </label>
          <Quantity line={line} set={(quantity) => change(withQuantity(cart, line.id, quantity))} />
        </li>
      ))}
    </ul>
  );
}

function Quantity({ line, set }: { line: Line; set: (quantity: number) => void }) {
  return (
    <span class="quantity">
      <IconButton
        icon="minus"
        label={`Less of ${line.id}`}
        disabled={!line.quantity}
        onClick={() => set(line.quantity - 1)}
      />
      <input
        type="number"
        aria-label={`Quantity of ${line.id}`}
        min={0}
        max={999}
        value={line.quantity}
        onChange={(event) => set(event.currentTarget.valueAsNumber)}
      />
      <IconButton icon="plus" label={`More of ${line.id}`} onClick={() => set(line.quantity + 1)} />
    </span>
  );
}
