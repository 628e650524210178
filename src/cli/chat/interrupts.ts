/**
 * Ctrl-C and requests from outside to end, while a chat is open. Ctrl-C is for what runs, if that
 * takes it, and leaves at once if not; SIGTERM and SIGHUP close the store and leave.
 */

import { INTERRUPTED, TERMINATED, type ExitCode } from "../output/index.ts";

export interface Interrupts extends Disposable {
  /** Aborts when the process is told from outside to end. */
  readonly ending: AbortSignal;
  /** While `work` runs, each Ctrl-C asks `onPress` what becomes of it. */
  during<Done>(onPress: () => "taken" | "leave", work: () => Promise<Done>): Promise<Done>;
  /** Ctrl-C as a prompt has seen it: a terminal that is read key by key makes no signal of it. */
  press(): void;
}

export interface InterruptOptions {
  /** Where signals come from: the process. */
  readonly signals: Pick<NodeJS.EventEmitter, "on" | "off">;
  /** Ends what runs and lets go of the store; never rejects. */
  readonly close: () => Promise<void>;
  /** Ends the process. */
  readonly leave: (code: ExitCode) => void;
  /** Milliseconds, never going back. */
  readonly now: () => number;
}

/**
 * `npm start` hands on the signal that the terminal has sent to us too: one Ctrl-C can come twice,
 * quicker than any finger.
 */
const ECHO_MS = 100;

export function takeInterrupts({ signals, close, leave, now }: InterruptOptions): Interrupts {
  const ending = new AbortController();
  let take: () => "taken" | "leave" = () => "leave";
  let pressedAt = Number.NEGATIVE_INFINITY;

  function press(): void {
    const echoes = now() - pressedAt < ECHO_MS;
    if (echoes) return;
    pressedAt = now();
    if (take() === "leave") leave(INTERRUPTED);
  }

  function end(): void {
    const again = ending.signal.aborted;
    ending.abort();
    if (again) leave(TERMINATED);
    else void close().then(() => leave(TERMINATED));
  }

  signals.on("SIGINT", press);
  signals.on("SIGTERM", end);
  signals.on("SIGHUP", end);
  return {
    ending: ending.signal,
    press,
    async during(onPress, work) {
      take = onPress;
      try {
        return await work();
      } finally {
        take = () => "leave";
      }
    },
    [Symbol.dispose]() {
      signals.off("SIGINT", press);
      signals.off("SIGTERM", end);
      signals.off("SIGHUP", end);
    },
  };
}
