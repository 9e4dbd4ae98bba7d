import { useRef } from "preact/hooks";
import { type Attachment, fileProblem, kindOf } from "../logic/files";
import type { OpenChat } from "../phone";
import { CartSheet } from "../sheets/CartSheet";
import { ContactSheet } from "../sheets/ContactSheet";
import { LocationSheet } from "../sheets/LocationSheet";
import { Action } from "../sheets/MessageSheet";
import type { MediaKind } from "../types";
import { Icon, type IconName } from "../ui/Icon";
import { Sheet } from "../ui/Sheet";
import { PreviewSheet } from "./PreviewSheet";

/** What can be sent besides text. */
export function AttachSheet({ open }: { open: OpenChat }) {
  const { phone } = open;
  return (
    <Sheet title="Send" onClose={phone.close}>
      <ul class="actions">
        <FileAction open={open} icon="picture" label="Photo or video" accept="image/*,video/*" />
        <FileAction open={open} icon="file" label="File" as="document" />
        <FileAction open={open} icon="microphone" label="Voice message from a file" accept="audio/*" as="audio" voice />
        <FileAction open={open} icon="smile" label="Sticker" accept="image/webp" as="sticker" />
        <Action icon="place" label="Location" onSelect={() => phone.show(<LocationSheet chat={open} />)} />
        <Action icon="person" label="Contact" onSelect={() => phone.show(<ContactSheet chat={open} />)} />
        <Action
          icon="cart"
          label="Order"
          onSelect={() => phone.show(<CartSheet chat={open} target={null} products={NO_PRODUCTS} />)}
        />
      </ul>
    </Sheet>
  );
}

const NO_PRODUCTS = { catalog_id: "catalog", sections: [] };

/** Says why there is no recording, and offers a file instead. */
export function NoMicrophoneSheet({ open, problem }: { open: OpenChat; problem: string }) {
  return (
    <Sheet title="No recording" onClose={open.phone.close}>
      <p class="problem" role="alert">
        {problem}
      </p>
      <p>You can send a sound from a file as a voice message instead.</p>
      <ul class="actions">
        <FileAction open={open} icon="microphone" label="Choose a sound" accept="audio/*" as="audio" voice />
      </ul>
    </Sheet>
  );
}

interface FileActionProps {
  open: OpenChat;
  icon: IconName;
  label: string;
  accept?: string;
  as?: MediaKind;
  voice?: boolean;
}

function FileAction({ open, icon, label, accept, as, voice = false }: FileActionProps) {
  const input = useRef<HTMLInputElement>(null);
  const choose = (file: File | undefined) => {
    if (file) attach(open, file, as, voice);
  };
  return (
    <li>
      <button type="button" class="sheet-action" onClick={() => input.current?.click()}>
        <Icon name={icon} /> {label}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        accept={accept}
        aria-label={label}
        onChange={(event) => choose(event.currentTarget.files?.[0])}
      />
    </li>
  );
}

/** Show a file before it is sent, or say why it cannot be sent. */
export function attach(open: OpenChat, file: File, as?: MediaKind, voice = false): void {
  const problem = fileProblem(file);
  if (problem) {
    open.phone.close();
    open.phone.say(problem);
    return;
  }
  const attachment: Attachment = { blob: file, kind: as ?? kindOf(file.type), filename: file.name, voice };
  open.phone.show(<PreviewSheet open={open} attachment={attachment} />);
}
