/**
 * Two streams on one screen of which stdout gets there through another process, as in
 * `turnlog "…" | tee answer.txt`: what is told on stderr waits until that process has shown what came
 * before, or it would stand in the middle of its lines.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { Channel, Output } from "./output.ts";

/** Milliseconds that `tee` and the like are given: they pass on at once what they read. */
const PASSED_ON_MS = 80;

const passedOn = async (): Promise<void> => await wait(PASSED_ON_MS);

/** Everything that is written comes out in its order. @param settle - Waits for the other process. */
export function interleaved(
  { data, progress }: Output,
  settle: () => Promise<void> = passedOn,
): Output {
  if (!data.isPipe || !progress.isTerminal) return { data, progress };
  let last: Promise<void> = Promise.resolve();
  let isOnItsWay = false;
  const inTurn = async (write: () => Promise<void>): Promise<void> => {
    const written = last.then(write);
    // Whoever wrote is told what went wrong; who comes next has a turn all the same.
    last = written.catch(() => {});
    await written;
  };
  return {
    data: writingBy(data, (text) =>
      inTurn(async () => {
        isOnItsWay = true;
        await data.write(text);
      }),
    ),
    progress: writingBy(progress, (text) =>
      inTurn(async () => {
        if (isOnItsWay) await settle();
        isOnItsWay = false;
        await progress.write(text);
      }),
    ),
  };
}

/** The channel, as wide as it is, that writes in another way. */
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
