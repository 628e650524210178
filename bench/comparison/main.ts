/**
 * `npm run bench:peers`: the same agent work by turnlog and by what a user would take instead, side by
 * side. Installs them into `bench/peers`. The table goes to stdout, progress to stderr; a comparison of
 * all at all sizes is also drawn into `docs/peers.svg`, with every figure in `bench/peers/results.json`.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { currentCommit } from "../checkout.ts";
import { machineName } from "../machine.ts";
import { createWorkload } from "../workload.ts";
import { comparisonChart } from "./comparison-chart.ts";
import { comparisonText } from "./comparison-report.ts";
import { compare } from "./comparing.ts";
import { contenderOf, contenders } from "./contenders.ts";
import { installPeers } from "./installing.ts";
import type { Comparison } from "./measured.ts";

const { values } = parseArgs({
  options: {
    /** Two rounds, without the longest sessions. */
    quick: { type: "boolean", default: false },
    /** Contenders by their ids, with commas. */
    only: { type: "string" },
    runs: { type: "string" },
    /** Steps of the sessions, with commas. */
    steps: { type: "string" },
    /** A folder for the drawing and the figures, instead of their places. */
    out: { type: "string" },
  },
});

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function countOf(option: string, text: string, least: number): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= least) return count;
  throw new Error(`--${option} takes whole numbers from ${least} on, not "${text}".`);
}

const runs = countOf("runs", values.runs ?? (values.quick ? "2" : "5"), 1);
const sizes = (values.steps ?? (values.quick ? "10,50" : "10,50,200"))
  .split(",")
  .map((steps) => countOf("steps", steps, 10))
  .toSorted((one, other) => one - other);
const chosen = values.only?.split(",").map(contenderOf) ?? contenders;
const isFull = values.only === undefined && values.steps === undefined && !values.quick;

/** Where the figures and the drawing go; nowhere when only some were compared. */
function places(): { readonly figures: string; readonly drawing: string } | undefined {
  const { out } = values;
  if (out !== undefined)
    return { figures: join(out, "results.json"), drawing: join(out, "peers.svg") };
  const ours = fileURLToPath(new URL("../..", import.meta.url));
  if (!isFull) return undefined;
  return { figures: join(ours, "bench/peers/results.json"), drawing: join(ours, "docs/peers.svg") };
}

const [loadBefore = 0] = loadavg();
if (chosen.some(({ isInstalledApart }) => isInstalledApart)) {
  progress("installing the peers");
  const failure = installPeers();
  if (failure !== undefined) progress(failure);
}
const results = await compare({ contenders: chosen, sizes, runs, onProgress: progress });
const comparison: Comparison = {
  machine: machineName(),
  loadBefore,
  at: new Date().toISOString(),
  commit: currentCommit(),
  runs,
  sizes: sizes.map((steps) => ({ steps, contentBytes: createWorkload(steps).contentBytes })),
  results,
};
const told = places();
if (told !== undefined) {
  await Promise.all(
    [told.figures, told.drawing].map((file) => mkdir(dirname(file), { recursive: true })),
  );
  await writeFile(told.figures, `${JSON.stringify(comparison, null, 2)}\n`);
  await writeFile(told.drawing, comparisonChart(comparison));
}
process.stdout.write(comparisonText(comparison));
