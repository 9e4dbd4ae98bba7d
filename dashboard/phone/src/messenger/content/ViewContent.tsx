import type { Message, View } from "../../shared/types";
import { useOpenChat } from "../phone";
import { Buttons } from "./Buttons";
import { ContactCards, FormCard, OfferCard, OrderCard, PlaceCard } from "./Cards";
import { ListButton, PollCard, ProductsCard } from "./Choices";
import { MediaView } from "./MediaView";
import { RichText } from "./RichText";

interface Props {
  view: View;
  message: Message;
}

/** What a message shows, from its header to its footer. */
export function ViewBody({ view, message }: Props) {
  return (
    <>
      <Head view={view} message={message} />
      {view.text ? <RichText text={view.text} /> : null}
      {view.reply ? <ReplyText reply={view.reply} shown={view.text} /> : null}
      <Attached view={view} message={message} />
      {view.footer ? (
        <p class="bubble-footer" dir="auto">
          {view.footer}
        </p>
      ) : null}
    </>
  );
}

/** What can be chosen below a message: cards, a list, products, buttons. */
export function ViewChoices({ view, message }: Props) {
  return (
    <>
      {view.cards?.length ? <Carousel cards={view.cards} message={message} /> : null}
      {view.list ? <ListButton list={view.list} message={message} /> : null}
      {view.products ? <ProductsCard products={view.products} message={message} /> : null}
      {view.buttons?.length ? <Buttons buttons={view.buttons} message={message} /> : null}
    </>
  );
}

function Head({ view, message }: Props) {
  const chat = useOpenChat();
  const reported = message.from === "person" || message.status === "played" || !view.media?.voice;
  const onPlay = reported ? undefined : () => chat.change("played", { message: message.id });
  return (
    <>
      {view.header?.media ? <MediaView media={view.header.media} /> : null}
      {view.header?.text ? (
        <p class="bubble-header" dir="auto">
          {view.header.text}
        </p>
      ) : null}
      {view.media ? <MediaView media={view.media} caption={view.text ?? ""} onPlay={onPlay} /> : null}
      {view.offer ? <OfferCard offer={view.offer} /> : null}
    </>
  );
}

function Attached({ view, message }: Props) {
  return (
    <>
      {view.location ? <PlaceCard place={view.location} /> : null}
      {view.contacts ? <ContactCards contacts={view.contacts} /> : null}
      {view.order ? <OrderCard order={view.order} /> : null}
      {view.poll ? <PollCard poll={view.poll} message={message} /> : null}
      {view.form ? <FormCard answers={view.form} /> : null}
      {view.call ? <p class="bubble-note">Call</p> : null}
      {isEmpty(view) ? <p class="bubble-note">This phone cannot show a message of the type “{message.type}”.</p> : null}
    </>
  );
}

function ReplyText({ reply, shown }: { reply: NonNullable<View["reply"]>; shown: string | undefined }) {
  return (
    <div class="reply-text">
      {shown === reply.title ? null : (
        <p class="rich-text" dir="auto">
          {reply.title}
        </p>
      )}
      {reply.description ? (
        <p class="file-details" dir="auto">
          {reply.description}
        </p>
      ) : null}
    </div>
  );
}

/** Cards side by side, each with its own picture, text and buttons. */
function Carousel({ cards, message }: { cards: View[]; message: Message }) {
  return (
    <ul class="carousel" aria-label="Cards">
      {cards.map((card, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: cards have no id and never move
        <li class="carousel-card" key={index}>
          <ViewBody view={card} message={message} />
          <ViewChoices view={card} message={message} />
        </li>
      ))}
    </ul>
  );
}

/** Return whether there is nothing that the phone can show. */
export function isEmpty(view: View): boolean {
  const { unsupported, ...rest } = view;
  return (
    Boolean(unsupported) || !Object.values(rest).some((part) => part !== null && part !== undefined && part !== "")
  );
}
