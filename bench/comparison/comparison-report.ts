/** A comparison as text for people. */

import { interval, median, ranged } from "../statistics.ts";
import { table } from "../table.ts";
import { checkBars, STREAMED } from "./comparison-bars.ts";
import { KILLED_IN } from "./killing.ts";
import type { Comparison, MeasuredKept, Result } from "./measured.ts";

export function comparisonText(comparison: Comparison): string {
  const { machine, loadBefore, at, commit, runs, sizes } = comparison;
  return [
    `${machine}; load ${loadBefore.toFixed(2)} before; ${at}, at ${commit}.`,
    `Medians of ${runs} rounds [95 % interval], each in a fresh process.`,
    "",
    ...sizes.flatMap((size) => [sessionTable(comparison, size), ""]),
    openingTable(comparison),
    "",
    keptTable(comparison),
    "",
    versionText(comparison),
    "",
    failureText(comparison),
    "",
    barTable(comparison),
    "",
  ].join("\n");
}

function cell(values: readonly number[], digits: number): string {
  return values.length === 0 ? "" : ranged(interval(values), digits);
}

function middle(values: readonly number[], digits: number): string {
  return values.length === 0 ? "" : median(values).toFixed(digits);
}

function sessionTable(
  { results }: Comparison,
  { steps, contentBytes }: Comparison["sizes"][number],
): string {
  const title = `${steps} steps, ${(contentBytes / 1e6).toFixed(2)} MB`;
  const columns = ["CPU ms/step", "first 10", "last 10", "typical", "wall ms/step", "typical"];
  return table([
    [title, ...columns, "disk ÷ content", "written ÷ content", "peak MB"],
    ...results.map(({ label, sessions: { [steps]: all = [] } }) => [
      label,
      all.length === 0
        ? "FAILED"
        : cell(
            all.map(({ cpuMs }) => cpuMs),
            2,
          ),
      middle(
        all.map(({ stepCpuMs }) => stepCpuMs.first),
        2,
      ),
      middle(
        all.map(({ stepCpuMs }) => stepCpuMs.last),
        2,
      ),
      middle(
        all.map(({ stepCpuMs }) => stepCpuMs.median),
        2,
      ),
      cell(
        all.map(({ wallMs }) => wallMs),
        2,
      ),
      middle(
        all.map(({ stepWallMs }) => stepWallMs.median),
        2,
      ),
      middle(
        all.map(({ diskBytes }) => diskBytes / contentBytes),
        2,
      ),
      middle(
        all.flatMap(({ writtenBytes: bytes }) =>
          bytes === undefined ? [] : [bytes / contentBytes],
        ),
        2,
      ),
      middle(
        all.map(({ peakMegabytes }) => peakMegabytes),
        0,
      ),
    ]),
  ]);
}

const keepers = ({ results }: Comparison): readonly Result[] =>
  results.filter(({ role }) => role !== "floor");

function openingTable(comparison: Comparison): string {
  const steps = comparison.sizes.at(-1)?.steps ?? 0;
  const title = `opened again after ${steps} steps, in a new process`;
  return table([
    [title, "modules loaded ms", "then: all in memory ms", "CPU ms", "model called ms", "CPU ms"],
    ...keepers(comparison).map(({ label, ready, called }) => [
      label,
      cell(
        [...ready, ...called].map(({ loadMs }) => loadMs),
        0,
      ),
      ready.length === 0
        ? "FAILED"
        : cell(
            ready.map(({ ms }) => ms),
            1,
          ),
      middle(
        ready.map(({ cpuMs }) => cpuMs),
        1,
      ),
      called.length === 0
        ? "FAILED"
        : cell(
            called.map(({ ms }) => ms),
            1,
          ),
      middle(
        called.map(({ cpuMs }) => cpuMs),
        1,
      ),
    ]),
  ]);
}

function keptTable(comparison: Comparison): string {
  const share = (kept: readonly MeasuredKept[]): string =>
    kept.length === 0
      ? "FAILED"
      : `${middle(
          kept.map(({ before, inStep }) => before + inStep),
          0,
        )} (${middle(
          kept.map(({ inStep }) => inStep),
          0,
        )})`;
  const title = `deltas there after SIGKILL, of ${STREAMED} (of the ${KILLED_IN.delta} of the killed step)`;
  return table([
    [title, "at full speed", "one each ms", "after 1 s of silence"],
    ...keepers(comparison).map(({ label, kept }) => [
      label,
      share(kept.burst),
      share(kept.steady),
      share(kept.silent),
    ]),
  ]);
}

function versionText({ results }: Comparison): string {
  const versions = new Map(results.flatMap((result) => Object.entries(result.versions)));
  return [...versions].map(([name, version]) => `${name} ${version}`).join(", ");
}

function failureText({ results }: Comparison): string {
  const failed = results.flatMap(({ label, failures }) =>
    failures.map((failure) => `FAILED  ${label}: ${failure}`),
  );
  return failed.length === 0 ? "Nothing failed." : failed.join("\n");
}

function barTable(comparison: Comparison): string {
  return table(
    checkBars(comparison).map(({ what, measured, bound, limit, holds }) => [
      `${holds ? "holds " : "MISSED"}  ${what}`,
      ranged(measured, 2),
      `${bound} ${limit}`,
    ]),
  );
}
