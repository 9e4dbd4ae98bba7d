import { copyText } from "../../shared/copy";
import type { Button, Message } from "../../shared/types";
import { safeLink } from "../logic/formatting";
import { phoneWord } from "../logic/words";
import { type OpenChat, useOpenChat } from "../phone";
import { CartSheet } from "../sheets/CartSheet";
import { ContactSheet } from "../sheets/ContactSheet";
import { FormSheet } from "../sheets/FormSheet";
import { LocationSheet } from "../sheets/LocationSheet";
import { Icon, type IconName } from "../ui/Icon";

const ICONS: Record<Button["kind"], IconName> = {
  reply: "reply",
  quick_reply: "reply",
  url: "link",
  call: "call",
  copy_code: "copy",
  flow: "form",
  address: "form",
  request_location: "place",
  request_contact: "person",
  catalog: "cart",
  other: "more",
};

/** The buttons below a message. */
export function Buttons({ buttons, message }: { buttons: Button[]; message: Message }) {
  return (
    <ul class="bubble-buttons" aria-label="Buttons">
      {buttons.map((button) => (
        <li key={`${button.kind} ${button.id} ${button.title}`}>
          <OneButton button={button} message={message} />
        </li>
      ))}
    </ul>
  );
}

function OneButton({ button, message }: { button: Button; message: Message }) {
  const chat = useOpenChat();
  const href = button.kind === "url" ? safeLink(button.value) : null;
  const face = (
    <>
      <Icon name={ICONS[button.kind] ?? "more"} size={18} /> <span dir="auto">{button.title}</span>
    </>
  );
  if (href) {
    return (
      <a class="bubble-button" href={href} target="_blank" rel="noopener noreferrer">
        {face}
      </a>
    );
  }
  return (
    <button type="button" class="bubble-button" onClick={() => press(chat, button, message)}>
      {face}
    </button>
  );
}

function press(chat: OpenChat, button: Button, message: Message): void {
  const { phone } = chat;
  const target = message.id;
  switch (button.kind) {
    case "reply":
    case "quick_reply":
      chat.send({ type: "button", target, button: button.id });
      break;
    case "call":
      phone.say(`A phone would now call ${phoneWord(button.value ?? button.title)}.`);
      break;
    case "copy_code":
      copy(chat, button.value ?? button.title);
      break;
    case "flow":
    case "address":
      phone.show(<FormSheet chat={chat} target={target} title={button.title} address={button.kind === "address"} />);
      break;
    case "request_location":
      phone.show(<LocationSheet chat={chat} quote={target} />);
      break;
    case "request_contact":
      phone.show(<ContactSheet chat={chat} quote={target} />);
      break;
    case "catalog":
      phone.show(<CartSheet chat={chat} target={target} products={message.view.products ?? NO_PRODUCTS} />);
      break;
    default:
      phone.say(`A phone would now open “${button.title}”.`);
  }
}

const NO_PRODUCTS = { catalog_id: "", sections: [] };

async function copy(chat: OpenChat, text: string): Promise<void> {
  const copied = await copyText(text);
  chat.phone.say(copied ? `Copied: ${text}` : `The browser does not allow copying. The code is ${text}`);
}
