import { now } from "../../shared/clock";
import type { View } from "../../shared/types";
import { money, totals } from "../logic/cart";
import { clockTime, dayLabel } from "../logic/times";
import { counted, phoneWord } from "../logic/words";
import type { Contact, Order, Place } from "../types";
import { Avatar } from "../ui/Avatar";
import { Icon } from "../ui/Icon";
import { RichText } from "./RichText";

const MOST = 20; // contacts, products or answers that are shown
const LONGEST = 500; // characters of an answer

/** A place, drawn here: a map would be loaded from another host. */
export function PlaceCard({ place }: { place: Place }) {
  const coordinates = `${place.latitude.toFixed(5)}, ${place.longitude.toFixed(5)}`;
  return (
    <div class="place-card">
      <svg class="place-map" viewBox="0 0 240 96" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
        <rect class="land" width="240" height="96" />
        <path class="water" d="M0 70c40-16 70 10 110 2s60-30 130-22v46H0z" />
        <path class="road" d="M-5 40C60 20 90 60 150 34s70-6 100-24M70-5c8 40 4 70 24 110M180-5c-14 40 10 60 4 110" />
        <path class="pin" d="M120 62c12-14 18-22 18-31a18 18 0 0 0-36 0c0 9 6 17 18 31z" />
        <circle class="pin-hole" cx="120" cy="31" r="7" />
      </svg>
      <div class="place-text">
        {place.name ? <strong dir="auto">{place.name}</strong> : null}
        {place.address ? <span dir="auto">{place.address}</span> : null}
        <span class="mono">{coordinates}</span>
      </div>
    </div>
  );
}

export function ContactCards({ contacts }: { contacts: Contact[] }) {
  return (
    <ul class="contact-cards" aria-label={counted(contacts.length, "Contact")}>
      {contacts.slice(0, MOST).map((contact) => (
        <li class="contact-card">
          <Avatar name={contact.name} />
          <span>
            <strong dir="auto">{contact.name}</strong>
            {contact.organization ? <span>{contact.organization}</span> : null}
            {contact.phones?.map((phone) => (
              <span class="mono">{phoneWord(phone)}</span>
            ))}
            {contact.emails?.map((email) => (
              <span>{email}</span>
            ))}
          </span>
        </li>
      ))}
      <Rest all={contacts.length} />
    </ul>
  );
}

/** Says how many of a long list are not shown. */
function Rest({ all }: { all: number }) {
  return all > MOST ? <li class="file-details">and {all - MOST} more</li> : null;
}

/** An order that the person sent. */
export function OrderCard({ order }: { order: Order }) {
  const count = order.items.reduce((sum, item) => sum + item.quantity, 0);
  return (
    <div class="order-card">
      <p class="order-title">
        <Icon name="cart" /> <strong>Order: {counted(count, "item")}</strong>
      </p>
      <ul>
        {order.items.slice(0, MOST).map((item) => (
          <li>
            <span dir="auto">
              {item.quantity} × {item.id}
            </span>
            <span>{money(Number(item.price) * item.quantity, item.currency)}</span>
          </li>
        ))}
        <Rest all={order.items.length} />
      </ul>
      {totals(order.items).map(({ currency, amount }) => (
        <p class="order-total">
          <span>Total</span>
          <strong>{money(amount, currency)}</strong>
        </p>
      ))}
      {order.text ? <RichText text={order.text} /> : null}
    </div>
  );
}

export function FormCard({ answers }: { answers: Record<string, unknown> }) {
  const entries = Object.entries(answers);
  return (
    <div class="form-card">
      <p class="order-title">
        <Icon name="form" /> <strong>Form</strong>
      </p>
      <dl>
        {entries.slice(0, MOST).map(([key, value]) => (
          <div>
            <dt>{key.slice(0, LONGEST)}</dt>
            <dd dir="auto">{(typeof value === "string" ? value : JSON.stringify(value)).slice(0, LONGEST)}</dd>
          </div>
        ))}
      </dl>
      {entries.length > MOST ? <p class="file-details">and {entries.length - MOST} more</p> : null}
    </div>
  );
}

export function OfferCard({ offer }: { offer: NonNullable<View["offer"]> }) {
  const ends = offer.expires_at ? Number(offer.expires_at) : 0;
  return (
    <div class="offer-card">
      <Icon name="tag" size={24} />
      <span>
        <strong dir="auto">{offer.text}</strong>
        {ends ? (
          <span>
            {ends < now.value ? "Expired" : "Ends"} {dayLabel(ends, now.value)} {clockTime(ends)}
          </span>
        ) : null}
      </span>
    </div>
  );
}
