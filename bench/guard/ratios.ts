/**
 * What a step, a row and a byte cost in proportion to what they cannot do without: all in one process,
 * alternating, so that a slow or busy machine is slow for both sides of each ratio.
 */

import { runBareLoop } from "../bare-loop.ts";
import { bytesIn, inFolder } from "../folder.ts";
import type { Cost } from "../meter.ts";
import { measureAppending } from "../micro/appending.ts";
import { median } from "../statistics.ts";
import { runTurnlog, type TurnlogVariant } from "../turnlog-session.ts";
import { createWorkload } from "../workload.ts";
import { callGrowth } from "./calls.ts";

export type RatioName =
  | "CPU of a step ÷ the bare loop's"
  | "CPU of a step on streamText ÷ the bare loop's"
  | "CPU of the last steps ÷ of the first"
  | "CPU of a call among 2,000 ÷ among 500"
  | "bytes on disk ÷ content"
  | "bytes written ÷ content"
  | "appends of the log ÷ rows of level, a second";

/** Absent where the system does not tell what it takes. */
export type Ratios = Readonly<Partial<Record<RatioName, number>>>;

const STEPS = 100;
const WARM_UP_STEPS = 40;
const ROUNDS = 5;

export async function measureRatios(): Promise<Ratios> {
  const rounds: Round[] = [];
  await round(WARM_UP_STEPS);
  for (let count = 0; count < ROUNDS; count++) rounds.push(await round(STEPS));
  const [appending] = await measureAppending({
    sessions: [64],
    durabilities: ["os"],
    rounds: ROUNDS,
    roundMs: 300,
  });
  const { contentBytes } = createWorkload(STEPS);
  const all = (of: (round: Round) => number): number => median(rounds.map(of));
  const calls = await callGrowth();
  const written = rounds.flatMap(({ light: { writtenBytes } }) => writtenBytes ?? []);
  return {
    "CPU of a step ÷ the bare loop's": all(({ light, bare }) => light.cpuMs / bare.cpuMs),
    "CPU of a step on streamText ÷ the bare loop's": all(
      ({ heavy, bare }) => heavy.cpuMs / bare.cpuMs,
    ),
    "CPU of the last steps ÷ of the first": all(({ light }) => light.lastCpuMs / light.firstCpuMs),
    "CPU of a call among 2,000 ÷ among 500": calls,
    "bytes on disk ÷ content": all(({ diskBytes }) => diskBytes / contentBytes),
    ...(written.length === 0 ? {} : { "bytes written ÷ content": median(written) / contentBytes }),
    ...(appending === undefined
      ? {}
      : { "appends of the log ÷ rows of level, a second": appending.toLevel.median }),
  };
}

interface Round {
  readonly bare: Cost;
  readonly light: Cost;
  readonly heavy: Cost;
  readonly diskBytes: number;
}

async function round(steps: number): Promise<Round> {
  const workload = createWorkload(steps);
  const session = (stepSource: TurnlogVariant["stepSource"]) =>
    inFolder(async (dir) => {
      const cost = await runTurnlog(workload, { stepSource, durability: "os" }, dir);
      return { cost, diskBytes: await bytesIn(dir) };
    });
  const bare = await runBareLoop(workload);
  const { cost: light, diskBytes } = await session("language-model-call");
  const { cost: heavy } = await session("stream-text");
  return { bare, light, heavy, diskBytes };
}
