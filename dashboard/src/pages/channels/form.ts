import type { Credentials, NewChannel } from "./queries";

/** A phone number as the API takes it: without the plus sign, spaces and dashes that people type. */
export function digitsOf(text: string): string {
  return text.replace(/[\s()+./-]/g, "");
}

export type OfficialValues = {
  name: string;
  phone_number_id: string;
  waba_id: string;
  token: string;
  app_secret: string;
};

export const NO_VALUES: OfficialValues = { name: "", phone_number_id: "", waba_id: "", token: "", app_secret: "" };

/** The credentials to test. Text that is pasted often ends with a space or a line break. */
export function credentialsOf(values: OfficialValues): Credentials {
  const { phone_number_id, waba_id, token, app_secret } = values;
  return {
    phone_number_id: phone_number_id.trim(),
    waba_id: waba_id.trim() || null,
    token: token.trim(),
    app_secret: app_secret.trim(),
  };
}

/** The channel to create. A name that was left empty is the verified name of the number. */
export function channelOf(values: OfficialValues, tested: { phone: string | null; name: string | null }): NewChannel {
  const name = values.name.trim() || tested.name || tested.phone || "Official number";
  return { kind: "official", name, ...credentialsOf(values) };
}
