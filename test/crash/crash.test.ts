/**
 * Real processes, killed with SIGKILL at random moments, again and again on the same store: each
 * one continues from what the one before it has left, and may die while it recovers.
 */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../support/random.ts";
import { long, lot, sampled, times } from "../support/runs.ts";
import { describeMoment, drawMoment } from "./crash-moment.ts";
import { placesIn, type CrashPlan } from "./crash-plan.ts";
import { crashProgram, crashRun } from "./crash-run.ts";
import { crashVerdict } from "./crash-verdict.ts";

const seed = `turnlog-${lot}`;
const killsPerStore = long ? 5 : 2;
const storesPerKind = times(1);

const kinds = (["sync", "os"] as const).flatMap((durability) =>
  (["stop", "continue"] as const).map((recovery) => ({ durability, recovery })),
);

let folder: string;
let child: string;
const kills = new Map<string, number>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-crash-"));
  child = await crashProgram(join(folder, "program"));
});
afterAll(async () => {
  const all = [...kills.values()].reduce((sum, count) => sum + count, 0);
  const each = [...kills].map(([doing, count]) => `${count} ${doing}`);
  console.log(`killed ${all} processes with SIGKILL (seed ${seed}): ${each.join(", ")}`);
  await rm(folder, { recursive: true, force: true });
});

describe.concurrent.each(sampled(kinds, 1))(
  "a session on a store with durability $durability, recovering by policy $recovery",
  ({ durability, recovery }) => {
    it.each(Array.from({ length: storesPerKind }, (_, index) => index + 1))(
      "keeps every law at whatever moment its process is killed (store %i)",
      async (number) => {
        const name = `${durability}-${recovery}-${number}`;
        const random = seededRandom(`${seed}-${name}`);
        const home = join(folder, name);
        await mkdir(home);
        let position = 0;
        for (let killed = 0, life = 1; killed < killsPerStore; life++) {
          const plan: CrashPlan = {
            ...placesIn(home),
            session: "talk",
            process: `${seed}-${name}-${life}`,
            turns: 4,
            from: position + 1,
            durability,
            recovery,
            stepSource: random.chance(1 / 3) ? "stream-text" : "language-model-call",
            ...(random.chance(1 / 4) ? { limit: 2000 + random.below(20_000) } : {}),
          };
          const moment = drawMoment(random);
          const run = await crashRun(child, plan, moment);
          const scratch = join(home, `copy-${life}`);
          const verdict = await crashVerdict(plan, run.told, scratch);
          const where = `process ${life} of ${name}, ${describeMoment(moment)}, position ${verdict.position}`;
          expect({ where, problems: verdict.problems }).toEqual({ where, problems: [] });
          await rm(scratch, { recursive: true });
          position = verdict.position;
          if (!run.killed) continue;
          killed += 1;
          kills.set(verdict.doing, (kills.get(verdict.doing) ?? 0) + 1);
        }
      },
    );
  },
);
