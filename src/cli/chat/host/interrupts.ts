/**
 * Signals while a chat is open. Ctrl-C goes to the running work, and ends the process if the work does
 * not take it. SIGTERM and SIGHUP close the store and end the process.
 */

import { INTERRUPTED, TERMINATED, type ExitCode } from "../../output/error-report.ts";

export interface Interrupts extends Disposable {
  /** Aborts on SIGTERM or SIGHUP. */
  readonly ending: AbortSignal;
  /** While `work` runs, each Ctrl-C calls `onPress`; `leave` ends the process. */
  during<Done>(onPress: () => "taken" | "leave", work: () => Promise<Done>): Promise<Done>;
  /** Reports Ctrl-C as a key: a terminal in raw mode sends no signal. */
  press(): void;
}

export interface InterruptOptions {
  /** The source of signals: the process. */
  readonly signals: Pick<NodeJS.EventEmitter, "on" | "off">;
  /** Stops the work and closes the store; never rejects. */
  readonly close: () => Promise<void>;
  readonly leave: (code: ExitCode) => void;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** `npm start` forwards the signal that the terminal also sends: one Ctrl-C may arrive twice within this time. A key comes once. */
const ECHO_MS = 100;

export function takeInterrupts({ signals, close, leave, now }: InterruptOptions): Interrupts {
  const ending = new AbortController();
  let take: () => "taken" | "leave" = () => "leave";
  let pressedAt = Number.NEGATIVE_INFINITY;

  function press(): void {
    if (take() === "leave") leave(INTERRUPTED);
  }

  function signalled(): void {
    const echoes = now() - pressedAt < ECHO_MS;
    if (echoes) return;
    pressedAt = now();
    press();
  }

  function end(): void {
    const again = ending.signal.aborted;
    ending.abort();
    if (again) leave(TERMINATED);
    else void close().then(() => leave(TERMINATED));
  }

  signals.on("SIGINT", signalled);
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
      signals.off("SIGINT", signalled);
      signals.off("SIGTERM", end);
      signals.off("SIGHUP", end);
    },
  };
}
