/** Ctrl-C in a command that reads or checks: it stops the work, and the exit code says so. */

import { type ExitCode, INTERRUPTED } from "../output/error-report.ts";

/** The exit code of the work, or 130 as soon as Ctrl-C is pressed. The signal stops the work. */
export async function unlessInterrupted(
  work: (signal: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  const stop = new AbortController();
  const interrupted = Promise.withResolvers<ExitCode>();
  const press = (): void => {
    stop.abort();
    interrupted.resolve(INTERRUPTED);
  };
  process.on("SIGINT", press);
  const working = work(stop.signal);
  // After an interrupt nobody awaits the work: its errors must not become unhandled rejections.
  working.catch(() => {});
  try {
    return await Promise.race([working, interrupted.promise]);
  } finally {
    process.off("SIGINT", press);
  }
}
