/** The state of one phone on the screen, and what its person does. */

import { signal } from "@preact/signals";
import { type ComponentChild, createContext } from "preact";
import { useContext } from "preact/hooks";
import { messageOf, path, post } from "../shared/api";
import { knownChat, putAnswer, putMessage } from "../shared/store";
import type { Chat, Message } from "../shared/types";
import type { Send } from "./types";

export class PhoneState {
  readonly overlay = signal<ComponentChild>(null); // the sheet that is open
  readonly notice = signal(""); // what just happened, or went wrong
  private opener: Element | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly chats = new Map<string, OpenChat>();

  constructor(readonly person: string) {}

  /** Return the chat with a number; its draft is kept while the phone is shown. */
  chatWith(number: string): OpenChat {
    const chat = this.chats.get(number) ?? new OpenChat(this, number);
    this.chats.set(number, chat);
    return chat;
  }

  /** Open a sheet over the phone. */
  readonly show = (overlay: ComponentChild): void => {
    if (!this.overlay.value) this.opener = document.activeElement;
    this.overlay.value = overlay;
  };

  readonly close = (): void => {
    this.overlay.value = null;
  };

  /** Focus what opened the last sheet, unless something else was focused since. */
  readonly giveFocusBack = (): void => {
    const { activeElement, body } = document;
    const { opener } = this;
    this.opener = null;
    if (opener instanceof HTMLElement && opener.isConnected && (!activeElement || activeElement === body))
      opener.focus();
  };

  /** Show a short notice. */
  readonly say = (text: string): void => {
    clearTimeout(this.timer);
    this.notice.value = text;
    this.timer = setTimeout(() => {
      this.notice.value = "";
    }, 6000);
  };

  /** Do something at the sandbox; an error is shown as a notice. Return whether it was done. */
  readonly attempt = async (action: () => Promise<unknown>): Promise<boolean> => {
    try {
      await action();
      return true;
    } catch (error) {
      this.say(messageOf(error));
      return false;
    }
  };
}

/** A chat that is open on a phone. */
export class OpenChat {
  readonly quoted = signal<Message | null>(null);
  readonly editing = signal<Message | null>(null);
  readonly draft = signal("");
  private readonly unanswered = new Map<string, Promise<boolean>>(); // by what is sent

  constructor(
    readonly phone: PhoneState,
    readonly number: string,
  ) {}

  /** Send something as the person, once for two clicks. Return whether it was sent. */
  readonly send = (body: Send): Promise<boolean> => {
    const content = JSON.stringify(body);
    const begun = this.unanswered.get(content);
    if (begun) return begun;
    const sent = this.phone.attempt(async () => {
      const message = await post<Message>(this.path("send"), body);
      putMessage(this.phone.person, this.number, message);
    });
    this.unanswered.set(content, sent);
    return sent.finally(() => this.unanswered.delete(content));
  };

  /** Change the chat: block, report, stop marketing. */
  readonly change = (action: string, body: object = {}): Promise<boolean> =>
    this.phone.attempt(async () => {
      const before = knownChat(this.phone.person, this.number);
      const chat = await post<Chat | null>(this.path(action), body);
      if (chat?.number) putAnswer(chat, before);
    });

  private path(action: string): string {
    return `${path`chats/${this.phone.person}/${this.number}`}/${action}`;
  }
}

export const PhoneContext = createContext<PhoneState>(new PhoneState(""));
export const ChatContext = createContext<OpenChat>(new OpenChat(new PhoneState(""), ""));

export function usePhone(): PhoneState {
  return useContext(PhoneContext);
}

export function useOpenChat(): OpenChat {
  return useContext(ChatContext);
}
