import type { Request } from "../../panel/curl";
import { Action } from "../../panel/ui";
import { phoneWord } from "../logic/words";

const CHANGES = ["numbers", "phones", "templates"];

/** Return the requests that create a number which the address names: an official one, or a phone. */
export function creations(number: string): { official: Request; linked: Request | null } {
  const isPhone = number.length >= 7 && number.length <= 15;
  const phone = isPhone ? number : `1555${number.slice(-7).padStart(7, "0")}`;
  const spec = { phone_number_id: number, phone, token: "secret-token", app_secret: "app-secret" };
  return {
    official: { method: "POST", path: "numbers", body: spec },
    linked: isPhone ? { method: "POST", path: "phones", body: { phone } } : null,
  };
}

/** The address names a number that the sandbox does not know: create it here. */
export function UnknownNumber({
  number,
  problem,
  onCreated,
}: {
  number: string;
  problem: string;
  onCreated: () => void;
}) {
  const { official, linked } = creations(number);
  return (
    <div class="phone-empty">
      <h3>No chat with {phoneWord(number)}</h3>
      <p>{problem}</p>
      <p>Create it, or choose a number that exists in the list of chats.</p>
      <p class="buttons">
        <Action
          label="Create an official number"
          look="primary"
          requests={[official]}
          changes={CHANGES}
          onDone={onCreated}
        />
        {linked ? (
          <Action label="Create a phone for a QR code" requests={[linked]} changes={CHANGES} onDone={onCreated} />
        ) : null}
      </p>
      <p class="hint">
        Its token is “secret-token”. To set it up otherwise, use the <a href="#/panel/numbers">panel</a>.
      </p>
    </div>
  );
}
