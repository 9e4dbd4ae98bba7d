import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { takesFile } from "../../shared/drops";
import type { Chat, Message } from "../../shared/types";
import { summary } from "../logic/words";
import type { OpenChat } from "../phone";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { AttachSheet, attach } from "./AttachSheet";
import { VoiceBar } from "./VoiceBar";

const LONGEST = 4096; // characters

/** Where the person writes. */
export function Composer({ open, chat }: { open: OpenChat; chat: Chat | null }) {
  const recording = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const { quoted, editing, draft } = open;
  useGrowing(field, draft.value);
  useEffect(() => {
    if (quoted.value || editing.value) field.current?.focus();
  }, [quoted.value, editing.value]);
  const begin = (text: string, quote: Message | null, edited: Message | null) => {
    draft.value = text;
    quoted.value = quote;
    editing.value = edited;
  };
  /** No reply or edit any more. What was written for a reply stays. */
  const cancel = () => begin(editing.value ? "" : draft.value, null, null);
  const send = async () => {
    const text = draft.value.trim();
    if (!text) return;
    const [edited, answered] = [editing.value, quoted.value];
    const [target, quote] = [edited?.id, answered?.id];
    begin("", null, null);
    const body = target
      ? ({ type: "edit", target, text } as const)
      : ({ type: "text", text, ...(quote ? { quote } : {}) } as const);
    if (!(await open.send(body)) && !draft.value && !quoted.value && !editing.value) begin(text, answered, edited);
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && (quoted.value || editing.value)) cancel();
  };
  const onPaste = (event: ClipboardEvent) => {
    const file = event.clipboardData?.files[0];
    if (!file) return;
    event.preventDefault();
    attach(open, file);
  };
  if (recording.value) return <VoiceBar open={open} onEnd={() => (recording.value = false)} />;
  return (
    <div class="composer-box" {...takesFile((file) => attach(open, file))}>
      <About message={editing.value ?? quoted.value} editing={Boolean(editing.value)} chat={chat} onCancel={cancel} />
      <div class="composer">
        <IconButton
          icon="plus"
          label="Send something else"
          aria-haspopup="dialog"
          onClick={() => open.phone.show(<AttachSheet open={open} />)}
        />
        <textarea
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder="Message"
          maxLength={LONGEST}
          value={draft.value}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        {draft.value.trim() ? (
          <IconButton
            icon={editing.value ? "check" : "send"}
            label={editing.value ? "Save" : "Send"}
            class="primary"
            onClick={send}
          />
        ) : (
          <IconButton icon="microphone" label="Record a voice message" onClick={() => (recording.value = true)} />
        )}
      </div>
    </div>
  );
}

interface AboutProps {
  message: Message | null;
  editing: boolean;
  chat: Chat | null;
  onCancel: () => void;
}

/** The message that is answered or edited. */
function About({ message, editing, chat, onCancel }: AboutProps) {
  if (!message) return null;
  const who = message.from === "person" ? "yourself" : (chat?.number.name ?? "the business");
  return (
    <div class="about">
      <Icon name={editing ? "edit" : "reply"} />
      <p class="quote-box">
        <strong>{editing ? "Edit message" : `Reply to ${who}`}</strong>
        <span dir="auto">{summary(message)}</span>
      </p>
      <IconButton icon="close" label={editing ? "Cancel the edit" : "Cancel the reply"} onClick={onCancel} />
    </div>
  );
}

/** Let the field grow with its text, up to the height in the style sheet. */
function useGrowing(field: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.setProperty("height", "auto");
    element.style.setProperty("height", `${element.scrollHeight + 2}px`);
  }, [field, text]);
}
