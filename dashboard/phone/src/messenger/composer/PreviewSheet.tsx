import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Field } from "../../shared/Field";
import { AudioPlayer } from "../content/AudioPlayer";
import { type Attachment, mediaOf } from "../logic/files";
import { sizeWord } from "../logic/words";
import type { OpenChat } from "../phone";
import { Icon } from "../ui/Icon";
import { Sheet } from "../ui/Sheet";

/** A file before it is sent, with its caption. */
export function PreviewSheet({ open, attachment }: { open: OpenChat; attachment: Attachment }) {
  const caption = useSignal("");
  const busy = useSignal(false);
  const captioned = attachment.kind !== "audio" && attachment.kind !== "sticker";
  const send = async () => {
    if (busy.value) return;
    busy.value = true;
    const quote = open.quoted.value?.id;
    const sent = await open.phone.attempt(async () => {
      const body = await mediaOf(attachment, caption.value);
      if (!(await open.send({ ...body, ...(quote ? { quote } : {}) }))) throw new Error(open.phone.notice.value);
    });
    busy.value = false;
    if (!sent) return;
    open.quoted.value = null;
    open.phone.close();
  };
  return (
    <Sheet
      title={attachment.voice ? "Voice message" : "Send a file"}
      onClose={open.phone.close}
      footer={
        <button
          type="button"
          class="button primary wide"
          disabled={busy.value}
          onClick={send}
          data-autofocus={captioned ? undefined : ""}
        >
          <Icon name="send" /> {busy.value ? "Sending…" : "Send"}
        </button>
      }
    >
      <Preview attachment={attachment} />
      <p class="hint">
        {attachment.filename} · {sizeWord(attachment.blob.size)}
      </p>
      {captioned ? (
        <Field
          label="Caption"
          value={caption.value}
          onChange={(value) => (caption.value = value)}
          onEnter={send}
          autofocus
        />
      ) : null}
    </Sheet>
  );
}

function Preview({ attachment }: { attachment: Attachment }) {
  const url = useMemo(() => URL.createObjectURL(attachment.blob), [attachment]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  if (attachment.kind === "image" || attachment.kind === "sticker") {
    return <img class="preview" src={url} alt={`Preview of ${attachment.filename}`} />;
  }
  if (attachment.kind === "audio") return <AudioPlayer url={url} voice={attachment.voice} blob={attachment.blob} />;
  if (attachment.kind === "video") {
    // biome-ignore lint/a11y/useMediaCaption: the person's own file has no captions
    return <video class="preview" src={url} controls aria-label="Preview" />;
  }
  return (
    <p class="preview-file">
      <Icon name="file" size={36} />
    </p>
  );
}
