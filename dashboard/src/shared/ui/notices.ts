import { notifications } from "@mantine/notifications";
import { createElement } from "react";
import { inWords } from "../api/problem";
import { NewsText } from "./NewsText";

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

const GOOD_MS = 6_000;
const BAD_MS = 20_000;

/** Says what happened elsewhere, with a way to it. The same id is shown once. */
export function showNotification(id: string, text: string, color: string, onOpen: () => void): void {
  const open = () => {
    notifications.hide(id);
    onOpen();
  };
  const message = createElement(NewsText, { text, onOpen: open });
  notifications.show({ id, message, color, autoClose: color === "teal" ? GOOD_MS : BAD_MS, ...CLOSE });
}
