/**
 * Keeps stdout and stderr in order when stdout reaches the screen through another process, as in
 * `turnlog "…" | tee answer.txt`: each write to stderr waits until that process has shown the text
 * before it.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { Channel, Output } from "./output.ts";

/** Milliseconds that `tee` and the like need to pass on what they have read. */
const PIPE_DELAY_MS = 80;

const afterPipe = async (): Promise<void> => await wait(PIPE_DELAY_MS);

/** @param settle - Waits until the other process has shown what it has read. */
export function interleaved(
  { data, progress }: Output,
  settle: () => Promise<void> = afterPipe,
): Output {
  if (!data.isPipe || !progress.isTerminal) return { data, progress };
  let last: Promise<void> = Promise.resolve();
  let isPending = false;
  const inTurn = async (write: () => Promise<void>): Promise<void> => {
    const written = last.then(write);
    // The caller gets the error; the next write runs all the same.
    last = written.catch(() => {});
    await written;
  };
  return {
    data: writingBy(data, (text) =>
      inTurn(async () => {
        isPending = true;
        await data.write(text);
      }),
    ),
    progress: writingBy(progress, (text) =>
      inTurn(async () => {
        if (isPending) await settle();
        isPending = false;
        await progress.write(text);
      }),
    ),
  };
}

export function writingBy(channel: Channel, write: Channel["write"]): Channel {
  return {
    ...channel,
    get columns() {
      return channel.columns;
    },
    get rows() {
      return channel.rows;
    },
    write,
  };
}
