/** A process of its own that plans and estimates, and prints what each took: `node bench/planning-child.ts`. */

import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { readFileSync } from "node:fs";
import {
  checkpoint,
  defaultEstimator,
  byImportance,
  dropMiddle,
  dropOldest,
  estimateContext,
  type TokenEstimator,
  meter,
  planCuts,
  planPruning,
  promptCache,
  slidingWindow,
  summarize,
  type CompactionStrategy,
  type PlanBudget,
} from "../src/context/index.ts";
import { lengthEstimator } from "../test/support/length-estimator.ts";
import { promptMessages } from "../src/projections/index.ts";
import { BENCH_MODEL, LongHistory, type LongSession } from "./long-history.ts";
import { LENGTHS, type EstimatorRow, type Planning } from "./planning.ts";
import { mark } from "./meter.ts";
import { median } from "./statistics.ts";

/** Samples of each call; one has as many calls as make a millisecond. */
const SAMPLES = 7;
/** Steps that come after a session has its length: the estimate of each is measured. */
const NEXT_STEPS = 15;

/** CPU of one call in microseconds, as others may use the machine as well. */
function microsOf(call: () => unknown): number {
  call();
  const calls = Math.ceil(1000 / Math.max(1, cpuOf(call)));
  const samples = Array.from({ length: SAMPLES }, () =>
    cpuOf(() => {
      for (let count = 0; count < calls; count++) call();
    }),
  );
  return median(samples) / calls;
}

function cpuOf(call: () => unknown): number {
  const start = mark();
  call();
  return (mark().cpuMs - start.cpuMs) * 1000;
}

const measure = meter(defaultEstimator, BENCH_MODEL);
const strategies: readonly CompactionStrategy[] = [
  summarize(),
  checkpoint(),
  slidingWindow(),
  dropOldest({ keepTurns: 3 }),
  dropMiddle(),
  byImportance(),
];

function estimate(
  session: LongSession,
  messages = promptMessages(session.history, session.view),
): void {
  estimateContext({ model: BENCH_MODEL, instructions: "", tools: "", ...session, messages });
}

/** Of each step that follows, what its prompt takes and what the estimate of that does. */
function nextSteps(long: LongHistory, length: number): Readonly<Record<string, number>> {
  estimate(long.session);
  const [prompts, estimates]: [number[], number[]] = [[], []];
  for (let step = 1; step <= NEXT_STEPS; step++) {
    long.growTo(length + 2 * step + 2);
    const { session } = long;
    let messages = promptMessages(session.history, session.view);
    prompts.push(cpuOf(() => (messages = promptMessages(session.history, session.view))));
    estimates.push(
      cpuOf(() => {
        estimate(session, messages);
      }),
    );
  }
  return {
    "the next step's estimate": median(estimates),
    "the next step's prompt": median(prompts),
  };
}

function plans(session: LongSession, length: number): Readonly<Record<string, number>> {
  const { history, view, usage } = session;
  const messageTokens = 300 * length;
  const budget: PlanBudget = { meter: measure, factor: 1, messageTokens };
  const cache = promptCache(usage, BENCH_MODEL, {}, 0);
  const input = { history, view, meter: measure, factor: 1, cache };
  return {
    "prune, when compacting": microsOf(() => planPruning({ ...input, occasion: "compaction" })),
    "prune, before a step": microsOf(() => planPruning({ ...input, occasion: "step" })),
    "cuts of new results": microsOf(() => planCuts({ history, view, budget })),
    ...Object.fromEntries(
      strategies.map((strategy) => [
        `compact: ${strategy.name}`,
        microsOf(() => strategy.plan(history, view, budget)),
      ]),
    ),
  };
}

function lengthColumn(length: number): Readonly<Record<string, number>> {
  const long = new LongHistory();
  long.growTo(length);
  const { session } = long;
  const all = cpuOf(() => {
    estimate(session);
  });
  return {
    ...nextSteps(long, length),
    "the first estimate, everything new": all,
    ...plans(session, length),
  };
}

const file = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
const texts: Readonly<Record<string, string>> = {
  prose: file("../README.md"),
  code: file("../src/runtime/session/actor.ts"),
  JSON: file("../package-lock.json").slice(0, 50_000),
  base64: Buffer.from(file("../package-lock.json")).toString("base64").slice(0, 50_000),
};

// Once that is not counted: it loads and compiles what all of them use.
lengthColumn(1000);
const columns = LENGTHS.map(lengthColumn);
const tokenizer: TokenEstimator = { ...lengthEstimator, name: "o200k", text: countTokens };
const estimators: readonly EstimatorRow[] = Object.entries(texts).map(([text, content]) => ({
  text,
  micros: Object.fromEntries(
    [defaultEstimator, lengthEstimator, tokenizer].map((estimator) => [
      estimator.name,
      (microsOf(() => estimator.text(content)) * 1024) / Buffer.byteLength(content),
    ]),
  ),
}));

const measured: Planning = {
  rows: Object.keys(columns[0] ?? {}).map((what) => ({
    what,
    micros: columns.map((column) => column[what] ?? Number.NaN),
  })),
  estimators,
};
process.stdout.write(`${JSON.stringify(measured)}\n`);
