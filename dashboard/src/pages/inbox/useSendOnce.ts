import { useRef } from "react";
import { perform } from "../../shared/mutations";
import { randomKey } from "../../shared/randomKey";
import { useClose } from "../../shared/ui/opening";
import { type SendRequest, useSend } from "./queries";

/** Sends what a dialog holds. The same content after a failure has the same key, so that it is never sent twice. */
export function useSendOnce(onSent: () => void) {
  const send = useSend();
  const close = useClose(onSent);
  const attempt = useRef({ content: "", key: "" });
  const submit = (body: SendRequest) => {
    const content = JSON.stringify(body);
    if (attempt.current.content !== content) attempt.current = { content, key: randomKey() };
    perform(
      send,
      { body, key: attempt.current.key },
      {
        onSuccess: () => {
          attempt.current = { content: "", key: "" };
          close();
        },
      },
    );
  };
  return { submit, busy: send.isPending, error: send.error };
}
