import { useEffect, useRef } from "react";
import { inWords } from "../../shared/api/problem";
import { randomKey } from "../../shared/randomKey";
import { showFailure } from "../../shared/ui/notices";
import { fileProblem, lookOfFile } from "./files";
import { type Conversation, type SendRequest, useSend, useShowTyping, useUpload } from "./queries";
import { type Attached, changeUnsent, isShown, readUnsent, useUnsent, useUnsentId } from "./unsent";
import { afterSending, keyFor, type UnsentText } from "./unsentText";
import { personName } from "./words";

const TYPING_MS = 15_000;

/**
 * A message that is being written: its text and what it replies to, which are kept in the browser, and its files.
 * Nothing is cleared before the gateway has taken it. What failed can be sent again, with the same keys, so that
 * nothing is sent twice.
 */
export function useComposer(conversation: Conversation) {
  const id = useUnsentId(conversation.id);
  const contact = conversation.contact.id;
  const { written, files, problem, busy } = useUnsent(id);
  const send = useSend();
  const upload = useUpload();
  const typing = useTyping(conversation.id);

  const keep = (next: UnsentText) => changeUnsent(id, { written: next });
  const write = (next: string) => {
    keep({ ...readUnsent(id).written, text: next });
    if (next) typing();
  };
  /** Removes what was sent from the field. What the person has typed meanwhile stays. */
  const clear = (sent: string) => {
    const { text, replyTo } = readUnsent(id).written;
    keep({ text: afterSending(text.trimStart(), sent), replyTo });
  };
  /** Replies to nothing any more, unless another message was chosen meanwhile. */
  const endReply = (replied = readUnsent(id).written.replyTo) => {
    const now = readUnsent(id).written;
    if (replied && replied.id === now.replyTo?.id) keep({ ...now, replyTo: undefined });
  };
  const attach = (added: File[]) => {
    const problems = added.map(fileProblem).filter((one) => one !== null);
    const good = added.filter((file) => fileProblem(file) === null);
    changeUnsent(id, {
      problem: problems.length ? problems.join(" ") : null,
      files: [...readUnsent(id).files, ...good.map((file) => ({ file, key: randomKey(), sendKey: randomKey() }))],
    });
  };
  const detach = (gone: Attached) => changeUnsent(id, { files: readUnsent(id).files.filter((one) => one !== gone) });

  const sendText = async (words: string, reply: Partial<SendRequest>) => {
    const sent = words + (reply.reply_to ?? "");
    const key = keyFor(readUnsent(id).written, sent, randomKey);
    keep({ ...readUnsent(id).written, key, sent });
    await send.mutateAsync({ body: { contact, body: words, ...reply }, key });
    clear(words);
  };
  const sendFiles = async (caption: string, reply: Partial<SendRequest>) => {
    let words = caption;
    for (const one of files) {
      const type = lookOfFile(one.file.type);
      const media = await upload.mutateAsync(one);
      const body: SendRequest = { contact, type, media: { id: media.id }, ...reply };
      if (type === "document") body.filename = one.file.name;
      const captioned = words !== "" && type !== "audio";
      if (captioned) body.caption = words;
      await send.mutateAsync({ body, key: one.sendKey });
      detach(one);
      if (captioned) {
        clear(words);
        words = "";
      }
    }
    return words;
  };
  const submit = async () => {
    const words = written.text.trim();
    if (busy || (!words && files.length === 0)) return;
    const { replyTo } = written;
    const reply = replyTo ? { reply_to: replyTo.id } : {};
    changeUnsent(id, { busy: true, problem: null });
    try {
      const rest = files.length ? await sendFiles(words, reply) : words;
      if (rest) await sendText(rest, reply);
      endReply(replyTo);
    } catch (error) {
      const reason = inWords(error);
      changeUnsent(id, { problem: reason });
      if (!isShown(id)) showFailure(new Error(`A message to ${personName(conversation)} was not sent. ${reason}`));
    } finally {
      changeUnsent(id, { busy: false });
    }
  };
  return { ...written, endReply, write, files, attach, detach, problem, busy, submit };
}

/** Shows the person the typing indicator, at most once per `TYPING_MS`. */
function useTyping(conversation: string): () => void {
  const { mutate } = useShowTyping(conversation);
  const last = useRef(0);
  useEffect(() => {
    last.current = 0;
  }, []);
  return () => {
    if (Date.now() - last.current < TYPING_MS) return;
    last.current = Date.now();
    mutate();
  };
}
