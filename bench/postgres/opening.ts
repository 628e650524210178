/** Opening a session among 100,000, beside one among 100. */

import { createRuntime } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { median } from "../statistics.ts";
import { aloneFrom } from "./events.ts";

const OPENED = 60;

export interface Opening {
  readonly sessions: number;
  /** Milliseconds, the median. */
  readonly ms: number;
}

/** In turn, so that whatever else the machine does slows both. */
export async function measureOpening(
  connectionString: string,
  counts: readonly number[],
): Promise<readonly Opening[]> {
  const filled = await Promise.all(
    counts.map(async (count) => {
      const log = await openPostgresLog({ connectionString, schema: `opening${count}` });
      const parallel = 256;
      for (let from = 0; from < count; from += parallel)
        await Promise.all(
          Array.from({ length: Math.min(parallel, count - from) }, (_, index) =>
            log.append(`s${from + index}`, "none", aloneFrom(1, 10)),
          ),
        );
      const runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
      return { log, runtime, sessions: count, waits: [] as number[] };
    }),
  );
  for (let time = 0; time < OPENED; time++)
    for (const { runtime, sessions, waits } of filled) {
      const id = `s${(time * 7919 + 13) % sessions}`;
      const begun = performance.now();
      await (await runtime.session(id)).view();
      if (time >= 10) waits.push(performance.now() - begun);
    }
  for (const { runtime, log } of filled) {
    await runtime.close();
    await log.close();
  }
  return filled.map(({ sessions, waits }) => ({ sessions, ms: median(waits) }));
}
