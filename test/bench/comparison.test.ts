/** The harness of `npm run bench:peers` without the peers: what it makes of figures. */

import { expect, it } from "vitest";
import { chart } from "../../bench/comparison/chart.ts";
import { checkBars } from "../../bench/comparison/comparison-bars.ts";
import { comparisonChart } from "../../bench/comparison/comparison-chart.ts";
import { comparisonText } from "../../bench/comparison/comparison-report.ts";
import type { Comparison, MeasuredSession, Result } from "../../bench/comparison/measured.ts";
import { assertWhole, Script } from "../../bench/comparison/script.ts";
import { interval, median, spread } from "../../bench/statistics.ts";
import { createWorkload } from "../../bench/workload.ts";

const CONTENT = 1000;

function session(cpuMs: number, diskBytes: number): MeasuredSession {
  const steps = { first: cpuMs, last: cpuMs, median: cpuMs };
  return {
    cpuMs,
    wallMs: cpuMs,
    stepCpuMs: steps,
    stepWallMs: steps,
    diskBytes,
    writtenBytes: 2 * diskBytes,
    peakMegabytes: 100,
  };
}

function result(id: string, role: Result["role"], cpuMs: readonly number[]): Result {
  return {
    id,
    label: `the ${id}`,
    role,
    versions: { [id]: "1.0.0" },
    failures: [],
    sessions: { 200: cpuMs.map((ms) => session(ms, CONTENT)) },
    ready: [{ loadMs: 100, ms: 10, cpuMs: 10 }],
    called: [{ loadMs: 100, ms: 30, cpuMs: 30 }],
    kept: { burst: [], steady: [{ before: 800, inStep: 149 }], silent: [] },
  };
}

const failed: Result = {
  ...result("mastra", "peer", []),
  ready: [],
  called: [],
  failures: ["a session of 200 steps: exit code 1: Error: it was not installed"],
};

const comparison: Comparison = {
  machine: "a machine",
  loadBefore: 0,
  at: "2026-01-01T00:00:00.000Z",
  commit: "abcdef01",
  runs: 3,
  sizes: [{ steps: 200, contentBytes: CONTENT }],
  results: [
    result("turnlog", "turnlog", [1, 2, 9]),
    result("loop", "floor", [4, 20, 10]),
    result("json", "peer", [4, 4, 90]),
    failed,
  ],
};

it("tells the middle of an odd and of an even count of figures, with the least and the most", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(spread([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 });
});

it("says between which values a median lies, the same each time, and closer with more values", () => {
  const some = Array.from({ length: 15 }, (_, index) => 100 + ((index * 7) % 15));
  expect(interval(some)).toEqual(interval(some));
  const { low, high } = interval(some);
  expect(low).toBeLessThan(107);
  expect(high).toBeGreaterThan(107);
  const more = interval(Array.from({ length: 8 }, () => some).flat());
  expect(more.median).toBe(107);
  expect(more.high - more.low).toBeLessThan(high - low);
  expect(interval([3])).toEqual({ median: 3, low: 3, high: 3 });
});

it("divides figures of the same round before it takes their median", () => {
  const [toLoop] = checkBars(comparison);
  expect(toLoop?.measured).toEqual({ median: 0.25, low: 0.1, high: 0.9 });
});

it("says that a bar is missed when an end of its interval is beyond it, whatever the median is", () => {
  const [toLoop] = checkBars(comparison);
  expect(toLoop).toMatchObject({ bound: "at most", limit: 0.5, holds: false });
  const steady = {
    ...comparison,
    results: [result("turnlog", "turnlog", [2, 2, 2]), result("loop", "floor", [4, 4, 5])],
  };
  expect(checkBars(steady)[0]).toMatchObject({ holds: true, measured: { low: 0.4, high: 0.5 } });
  const least = checkBars(comparison).find(({ what }) => what.startsWith("CPU of the json"));
  expect(least).toMatchObject({ bound: "at least", limit: 4, holds: false, measured: { low: 2 } });
});

it("names a contender that failed in its table, and says why", () => {
  const text = comparisonText(comparison);
  expect(text).toMatch(/^the mastra +FAILED/m);
  expect(text).toContain(
    "FAILED  the mastra: a session of 200 steps: exit code 1: Error: it was not installed",
  );
});

it("says of every figure on which machine and how often it was taken", () => {
  const text = comparisonText(comparison);
  expect(text).toContain("a machine");
  expect(text).toContain("Medians of 3 rounds");
  expect(comparisonChart(comparison)).toContain(
    "Medians of 3 rounds in fresh processes, on 2026-01-01 at abcdef01. a machine.",
  );
});

it("draws the longest bar as long as there is room and the others in proportion", () => {
  const bar = (value: number) => ({ label: "a", value, text: "", isOurs: false });
  const svg = chart([{ title: "t", bars: [bar(30), bar(10)] }], "");
  const widths = [...svg.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) =>
    Number(width),
  );
  expect(widths).toHaveLength(2);
  expect((widths[0] ?? 0) / (widths[1] ?? 1)).toBeCloseTo(3, 2);
});

it("writes labels into the drawing as text, whatever is in them", () => {
  const svg = chart([{ title: "a < b & c", bars: [] }], 'x"');
  expect(svg).toContain("a &lt; b &amp; c");
  expect(svg).toContain("x&quot;");
});

it("refuses figures of a contender that did less than the work", () => {
  const workload = createWorkload(3);
  const script = new Script(workload);
  expect(() => script.finished()).toThrow("Other work was done: 0 steps");
  const told = [workload.texts[0]?.join(""), workload.results[0]];
  expect(() => {
    assertWhole(told, workload, 1);
  }).not.toThrow();
  expect(() => {
    assertWhole(told, workload, 2);
  }).toThrow("The prompt lacks step 2.");
});
