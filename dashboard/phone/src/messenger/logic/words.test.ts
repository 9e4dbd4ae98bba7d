import { describe, expect, it } from "vitest";
import type { View } from "../../shared/types";
import { counted, initials, mediaWord, phoneWord, shade, sizeWord, statusWord, summary } from "./words";

const inWords = (view: View, type = "text") => summary({ view, type, deleted: false });
const file = { url: "/control/files/1/2", link: null };

describe("a message in one line", () => {
  it("is its text without marks", () => {
    expect(inWords({ text: "*Hello*\nAna" })).toBe("Hello Ana");
    expect(summary({ view: { text: "x" }, type: "text", deleted: true })).toBe("This message was deleted");
  });

  it("names files", () => {
    expect(inWords({ media: { kind: "image", ...file } })).toBe("Photo");
    expect(inWords({ media: { kind: "image", ...file }, text: "Our shop" })).toBe("Photo: Our shop");
    expect(inWords({ media: { kind: "audio", voice: true, ...file } })).toBe("Voice message");
    expect(inWords({ media: { kind: "document", filename: "a.pdf", ...file } })).toBe("Document: a.pdf");
    expect(mediaWord({ kind: "video", animated: true, ...file })).toBe("GIF");
  });

  it("names everything else", () => {
    expect(inWords({ location: { latitude: 1, longitude: 2, name: "Shop" } })).toBe("Location: Shop");
    expect(inWords({ contacts: [{ name: "Ana" }] })).toBe("Contact: Ana");
    expect(inWords({ contacts: [{ name: "Ana" }, { name: "Bo" }] })).toBe("2 contacts: Ana");
    expect(inWords({ poll: { name: "When?", options: [], selectable: 1, votes: [] } })).toBe("Poll: When?");
    expect(inWords({ reply: { id: "1", title: "Yes" } })).toBe("Yes");
    expect(inWords({ form: { a: 1 } })).toBe("Form was filled in");
    expect(inWords({ header: { text: "*Sale*" } })).toBe("Sale");
    expect(inWords({ header: { media: { kind: "video", ...file } } })).toBe("Video");
    expect(inWords({ products: { catalog_id: "1", sections: [] } })).toBe("Products");
    expect(inWords({ cards: [{}, {}] })).toBe("2 cards");
    expect(inWords({ call: {} })).toBe("Call");
    expect(inWords({ unsupported: true })).toBe("A message that this phone cannot show");
    expect(inWords({}, "odd")).toBe("Message of the type odd");
  });

  it("counts an order", () => {
    const item = { id: "a", price: 1, currency: "EUR" };
    expect(inWords({ order: { catalog_id: "1", items: [{ ...item, quantity: 1 }] } })).toBe("Order: 1 item");
    expect(inWords({ order: { catalog_id: "1", items: [{ ...item, quantity: 3 }] } })).toBe("Order: 3 items");
  });
});

it("has words for counts, sizes and statuses", () => {
  expect([counted(1, "item"), counted(2, "item"), counted(1, "Contact")]).toEqual(["1 item", "2 items", "Contact"]);
  expect([0, 999, 12_300, 1_250_000, null].map(sizeWord)).toEqual(["0 B", "999 B", "12 kB", "1.3 MB", ""]);
  expect(statusWord("accepted")).toBe("Waiting");
});

it("groups the digits of a phone number", () => {
  expect(phoneWord("5511999998888")).toBe("+55 11 99999 8888");
  expect(phoneWord("15550783881")).toBe("+1 555 078 3881");
  expect(phoneWord("4915112345678")).toBe("+49 15 11234 5678");
  expect(phoneWord("35191234567")).toBe("+351 9123 4567");
  expect(phoneWord("abc")).toBe("abc");
});

it("makes initials and shades of any name", () => {
  expect(["Ana Souza", "ana", "Café Ünal & Co", "🙂", ""].map(initials)).toEqual(["AS", "A", "CC", "?", "?"]);
  expect(shade("Ana", 6)).toBe(shade("Ana", 6));
  expect(shade("", 6)).toBeLessThan(6);
});
