/** Random sequences of commands, crashes among them, on real sessions, with the machine as the oracle. */

import fc from "fast-check";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { Known } from "./command.ts";
import { anyCommand } from "./commands.ts";
import { goOnToTheEnd } from "./finale.ts";
import { lot, patience, times } from "../support/runs.ts";
import { time } from "./held-time.ts";
import { loadAll } from "./load-all.ts";
import { beginning } from "./situation.ts";
import { Stage } from "./stage.ts";
import { worlds } from "./worlds.ts";

const numRuns = times(8, 40);
const seeds = [lot + 1, lot + 2];

beforeAll(async () => {
  await loadAll();
  time.hold();
});
afterAll(() => time.release());

describe.each(worlds)("With $toolConcurrency tools at a time, by $stepSource", (world) => {
  it.each(seeds)(
    "whatever is done and wherever it dies, a session goes as the machine says (seed %i)",
    { timeout: patience },
    async (seed) => {
      const sequences = fc.commands([anyCommand], { maxCommands: 120, size: "max" });
      await fc.assert(
        fc.asyncProperty(sequences, async (sequence) => {
          const stage = await Stage.open(world);
          const known: Known = { world, situation: beginning };
          await fc.asyncModelRun(() => ({ model: known, real: stage }), sequence);
          await goOnToTheEnd(stage);
        }),
        { seed, numRuns },
      );
    },
  );
});
