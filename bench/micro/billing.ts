/** What summing a session's spending for its payer costs, by what its steps cost: the fold alone, and with reading the log. */

import { noPayer, paid } from "../../src/context/index.ts";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { inFolder } from "../folder.ts";
import { mark } from "../meter.ts";
import { median } from "../statistics.ts";
import { runTurnlog, SESSION } from "../turnlog-session.ts";
import { createWorkload } from "../workload.ts";

const STEPS = 50;
const FOLDS = 15;

/** By the CPU of the steps. */
export interface Billing {
  readonly fold: number;
  readonly question: number;
}

export async function measureBilling(rounds: number): Promise<Billing> {
  const all: Billing[] = [];
  // The first one compiles it.
  for (let round = 0; round <= rounds; round++) all.push(await billing());
  const counted = all.slice(1);
  return {
    fold: median(counted.map(({ fold }) => fold)),
    question: median(counted.map(({ question }) => question)),
  };
}

async function billing(): Promise<Billing> {
  return await inFolder(async (dir) => {
    const variant = { stepSource: "language-model-call", durability: "os" } as const;
    const { cpuMs } = await runTurnlog(createWorkload(STEPS), variant, dir);
    await using runtime = await createRuntime({ dir, agent: { model: scriptedModel([]) } });
    const before = mark();
    await runtime.bill({ by: "tenant" });
    const asked = mark();
    const all = await Array.fromAsync(runtime.log.read(SESSION));
    const events = all.filter(({ type }) => !type.startsWith("part."));
    const from = mark();
    for (let time = 0; time < FOLDS; time++) {
      let payer = noPayer;
      const options = { keys: ["tenant"], caller: undefined, prices: () => ({}) };
      for (const event of events) ({ payer } = paid(payer, event, options));
    }
    const foldMs = (mark().cpuMs - from.cpuMs) / FOLDS;
    const stepsMs = cpuMs * STEPS;
    return { fold: foldMs / stepsMs, question: (asked.cpuMs - before.cpuMs) / stepsMs };
  });
}
