import { useState } from "preact/hooks";
import { path } from "../shared/api";
import { Field } from "../shared/Field";
import type { BusinessNumber } from "../shared/types";
import type { Request } from "./curl";
import { Check, Choice, RequestForm } from "./ui";
import { compact, phoneDigits } from "./values";

const WINDOWS = [
  ["", "As in the settings"],
  ["false", "Off"],
  ["async", "On: accepted, then failed"],
  ["sync", "On: refused"],
] as const;

/** Registers a number, or changes one. */
export function NumberForm({ number, onEnd, cancel }: { number?: BusinessNumber; onEnd: () => void; cancel: boolean }) {
  const own = number?.limits.window;
  const [draft, setDraft] = useState({
    phone_number_id: number?.phone_number_id ?? "",
    phone: number?.phone ?? "",
    name: number?.name ?? "",
    token: number?.token ?? "",
    app_secret: number?.app_secret ?? "",
    callback_url: number?.callback_url ?? "",
    verify_token: number?.verify_token ?? "",
    window: own === undefined ? "" : own === true ? "async" : String(own),
  });
  const [verify, setVerify] = useState(true);
  const set = (name: keyof typeof draft) => (value: string) => setDraft({ ...draft, [name]: value });
  const build = (): Request => {
    const { window, phone_number_id, callback_url, ...texts } = draft;
    const fields = {
      ...compact({ ...texts, phone: phoneDigits(draft.phone) }),
      ...(callback_url.trim() ? { callback_url: callback_url.trim(), verify } : number ? { callback_url: null } : {}),
      ...(window ? { limits: { window: window === "false" ? false : window } } : {}),
    };
    if (number) return { method: "PATCH", path: path`numbers/${number.phone_number_id}`, body: fields };
    return { method: "POST", path: "numbers", body: { phone_number_id: phone_number_id.trim(), ...fields } };
  };
  return (
    <RequestForm
      submit={number ? "Save" : "Register the number"}
      build={build}
      changes={["numbers", "templates"]}
      onDone={onEnd}
      onCancel={cancel ? onEnd : undefined}
    >
      <div class="fields">
        {!number && (
          <Field
            label="Phone number id"
            value={draft.phone_number_id}
            onChange={set("phone_number_id")}
            inputMode="numeric"
            hint="Digits: the id in the address of each request"
          />
        )}
        <Field label="Phone number" value={draft.phone} onChange={set("phone")} inputMode="tel" />
        <Field label="Display name" value={draft.name} onChange={set("name")} />
        <Field label="Access token" value={draft.token} onChange={set("token")} hint="Any text" />
        <Field label="App secret" value={draft.app_secret} onChange={set("app_secret")} hint="Signs the callbacks" />
        <Field label="Callback URL" value={draft.callback_url} onChange={set("callback_url")} inputMode="url" />
        <Field label="Verify token" value={draft.verify_token} onChange={set("verify_token")} />
        <Choice label="24-hour window" value={draft.window} options={WINDOWS} onChange={set("window")} />
      </div>
      {draft.callback_url && <Check label="Verify the callback URL" value={verify} onChange={setVerify} />}
    </RequestForm>
  );
}
