// Sending as a person, to an official number or to a phone of the QR network.

import { control, part } from "/page/api.js";

const LARGEST = 7_000_000;

/** Somebody who can write to a number: {id, qr} and the person's phone. */
export function speaker(number, person) {
  return number.qr ? toPhone(number.id, person) : toNumber(number.id, person);
}

function toNumber(id, from) {
  const send = (type, content, more = {}) =>
    control("POST", `numbers/${part(id)}/incoming`, { from, type, [type]: content, ...more });
  return {
    text: (text) => control("POST", "say", { phone_number_id: id, from, text }),
    react: (wamid, emoji) => send("reaction", { message_id: wamid, emoji }),
    tap: (wamid, button) => button.quick
      ? send("button", { payload: button.id, text: button.title }, { reply_to: wamid })
      : send("button_reply", { id: button.id, title: button.title }, { reply_to: wamid }),
    pick: (wamid, row) => send("list_reply", row, { reply_to: wamid }),
    file: async (file) => {
      const { kind, data } = await opened(file);
      return send(kind, { content: data, mime_type: file.type || "application/octet-stream", filename: file.name });
    },
    order: (cart) => send("order", {
      catalog_id: cart.catalog, text: "",
      product_items: [{ product_retailer_id: cart.product, quantity: cart.quantity, item_price: cart.price, currency: cart.currency }],
    }),
  };
}

function toPhone(phone, from) {
  const send = (type, content, more = {}) =>
    control("POST", `phones/${part(phone)}/incoming`, { from: { phone: from }, type, content, ...more });
  const quote = (id) => ({ quote: { id, from_me: true } });
  return {
    text: (text) => send("text", { body: text }),
    react: (id, emoji) => send("reaction", { reaction: { emoji } }, { target: id }),
    tap: (id, button) => send("button_reply", { reply: { id: button.id, title: button.title } }, quote(id)),
    pick: (id, row) => send("list_reply", { reply: row }, quote(id)),
    file: async (file) => {
      const { kind, data } = await opened(file);
      const media = { data, mime_type: file.type || "application/octet-stream", filename: file.name };
      return send(kind, {}, { media });
    },
    order: (cart) => send("order", { order: {
      catalog_id: cart.catalog,
      items: [{ retailer_id: cart.product, quantity: cart.quantity, price: String(cart.price), currency: cart.currency }],
    } }),
  };
}

async function opened(file) {
  if (file.size > LARGEST) throw new Error("This file is too large for the page: at most 7 MB. Use the control API.");
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  const kind = ["image", "video", "audio"].find((one) => file.type.startsWith(`${one}/`)) || "document";
  return { kind, data: btoa(text) };
}
