/** Ctrl-C while a command shows or checks something: it ends what runs, and the command says so. */

import { type ExitCode, INTERRUPTED } from "../output/index.ts";

/** What the work comes to, or 130 as soon as Ctrl-C is pressed; the signal tells the work. */
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
  // What it still has to say when it was interrupted, nobody listens to.
  working.catch(() => {});
  try {
    return await Promise.race([working, interrupted.promise]);
  } finally {
    process.off("SIGINT", press);
  }
}
