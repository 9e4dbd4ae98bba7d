import { notifications } from "@mantine/notifications";
import { inWords } from "../api/problem";

const CLOSE = { closeButtonProps: { "aria-label": "Close" } };

/** Says shortly that something was done. */
export function showDone(message: string): void {
  notifications.show({ message, color: "teal", autoClose: 4_000, ...CLOSE });
}

/** Says that something failed, where no form shows it. */
export function showFailure(error: unknown): void {
  notifications.show({
    title: "This did not work",
    message: inWords(error),
    color: "red",
    autoClose: 10_000,
    ...CLOSE,
  });
}
