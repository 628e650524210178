/** Repeats statements whose connection broke: only those that change nothing when they run twice. */

import { setTimeout } from "node:timers/promises";
import { isUnknownOutcome } from "./failures.ts";
import type { SqlPool } from "./sql.ts";

/** Three seconds in all: a server that is restarted is back by then. */
const WAITS_MS: readonly number[] = [20, 60, 120, 300, 500, 1000, 1000];

/** The same pool, for statements that may run twice. */
export function retrying(pool: SqlPool): SqlPool {
  return {
    query: (text, values) => repeated(() => pool.query(text, values)),
    transaction: (work) => repeated(() => pool.transaction(work)),
    listen: (channel, onMessage) => pool.listen(channel, onMessage),
    end: () => pool.end(),
  };
}

async function repeated<Result>(run: () => Promise<Result>): Promise<Result> {
  for (const wait of WAITS_MS) {
    try {
      return await run();
    } catch (error) {
      if (!isUnknownOutcome(error)) throw error;
      await setTimeout(wait);
    }
  }
  return await run();
}
