import { useEffect, useRef, useState } from "react";
import { inWords } from "../../shared/api/problem";
import { randomKey } from "../../shared/randomKey";
import { useSession } from "../../shared/session/queries";
import { fileProblem, lookOfFile } from "./files";
import { type Message, type SendRequest, useSend, useShowTyping, useUpload } from "./queries";
import { afterSending, keepText, keyFor, readText, type UnsentText } from "./unsentText";

export type Attached = { file: File; key: string; sendKey: string };

const TYPING_MS = 15_000;

/**
 * A message that is being written: its text, which is kept in the browser, and its files. Nothing is cleared before the
 * gateway has taken it. What failed can be sent again, with the same keys, so that nothing is sent twice.
 */
export function useComposer(conversation: string, contact: string, replyTo: Message | null, onReplied: () => void) {
  const owner = useSession().user.id;
  const textId = `${owner}.${conversation}`; // people may share a browser
  const unsent = useRef<UnsentText>({ text: "" });
  const [text, setText] = useState(() => {
    unsent.current = readText(localStorage, textId);
    return unsent.current.text;
  });
  const [files, setFiles] = useState<Attached[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const send = useSend();
  const upload = useUpload();
  const typing = useTyping(conversation);

  const keep = (next: UnsentText) => {
    unsent.current = next;
    keepText(localStorage, textId, next);
  };
  const write = (next: string) => {
    setText(next);
    keep({ ...unsent.current, text: next });
    if (next) typing();
  };
  /** Removes what was sent from the field. What the person has typed meanwhile stays. */
  const clear = (sent: string) => {
    const left = afterSending(unsent.current.text.trimStart(), sent);
    setText(left);
    keep({ text: left });
  };
  const attach = (added: File[]) => {
    const problems = added.map(fileProblem).filter((one) => one !== null);
    setProblem(problems.length ? problems.join(" ") : null);
    const good = added.filter((file) => fileProblem(file) === null);
    setFiles((before) => [...before, ...good.map((file) => ({ file, key: randomKey(), sendKey: randomKey() }))]);
  };
  const detach = (gone: Attached) => setFiles((before) => before.filter((one) => one !== gone));

  const sendText = async (words: string, reply: Partial<SendRequest>) => {
    const key = keyFor(unsent.current, words, randomKey);
    keep({ ...unsent.current, key, sent: words });
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
    const words = text.trim();
    if (busy || (!words && files.length === 0)) return;
    const reply = replyTo ? { reply_to: replyTo.key.id } : {};
    setBusy(true);
    setProblem(null);
    try {
      const rest = files.length ? await sendFiles(words, reply) : words;
      if (rest) await sendText(rest, reply);
      onReplied();
    } catch (error) {
      setProblem(inWords(error));
    } finally {
      setBusy(false);
    }
  };
  return { text, write, files, attach, detach, problem, busy, submit };
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
