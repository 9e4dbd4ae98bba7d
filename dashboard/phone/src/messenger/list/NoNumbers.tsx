import { useSignal } from "@preact/signals";
import { copyText } from "../../shared/copy";

const BODY = `{"phone_number_id": "106540352242922", "phone": "15550783881",
  "token": "secret-token", "app_secret": "app-secret", "name": "My shop"}`;

/** Return the command that creates a number. */
export function createNumberCommand(origin: string): string {
  return `curl -X POST ${origin}/control/numbers \\\n  -H 'content-type: application/json' -d '${BODY}'`;
}

/** There is no business yet that could write: how to create one. */
export function NoNumbers() {
  const command = createNumberCommand(location.origin);
  const copied = useSignal(false);
  const copy = async () => {
    copied.value = await copyText(command);
  };
  return (
    <div class="phone-empty">
      <h3>No number yet</h3>
      <p>A business needs a number before it can write. Create one:</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the command is scrolled with the keyboard */}
      <pre tabIndex={0}>{command}</pre>
      <p class="buttons">
        <button type="button" class="button primary" onClick={copy}>
          {copied.value ? "Copied" : "Copy the command"}
        </button>
        <a class="button" href="#/panel/numbers">
          Open the panel
        </a>
      </p>
    </div>
  );
}
