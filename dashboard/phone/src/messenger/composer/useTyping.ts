import { useEffect, useMemo } from "preact/hooks";
import { path, post } from "../../shared/api";
import type { OpenChat } from "../phone";

const AGAIN = 5000; // ms between two reports while the person types
const IDLE = 3000; // ms without a key after which the person types no more

/** Report to the business that the person types, no more often than needed. */
export class TypingReporter {
  private reported = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly report: (on: boolean) => void,
    private readonly time: () => number = () => performance.now(),
  ) {}

  /** A key was pressed. */
  readonly note = (): void => {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.stop, IDLE);
    if (this.time() - this.reported < AGAIN) return;
    this.reported = this.time();
    this.report(true);
  };

  /** The person sent the text, went away, or typed nothing for a while. */
  readonly stop = (): void => {
    clearTimeout(this.timer);
    if (this.reported === Number.NEGATIVE_INFINITY) return;
    this.reported = Number.NEGATIVE_INFINITY;
    this.report(false);
  };
}

export function useTyping(open: OpenChat): TypingReporter {
  const reporter = useMemo(() => {
    const address = `${path`chats/${open.phone.person}/${open.number}`}/typing`;
    return new TypingReporter((on) => {
      post(address, { on }).catch(() => {}); // a report that is lost does no harm
    });
  }, [open]);
  useEffect(() => reporter.stop, [reporter]);
  return reporter;
}
