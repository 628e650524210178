/** The drawing of a comparison for the README: what a step costs, what opening takes, what a kill leaves. */

import { median } from "../statistics.ts";
import { chart, type ChartBar, type ChartPanel } from "./chart.ts";
import { shareKept } from "./comparison-bars.ts";
import type { Comparison, Result } from "./measured.ts";

/** Those that a reader chooses between; the table has the others. */
const SHOWN = ["turnlog", "loop", "json", "openai-agents", "mastra", "langgraph"];

export function comparisonChart(comparison: Comparison): string {
  const { results, sizes, machine, runs, at, commit } = comparison;
  const steps = sizes.at(-1)?.steps ?? 0;
  const shown = SHOWN.flatMap((id) => results.filter((result) => result.id === id));
  const panel = (
    title: string,
    of: (result: Result) => readonly number[],
    unit: string,
  ): ChartPanel => ({
    title,
    bars: shown.flatMap((result) => bar(result, of(result), unit)),
  });
  const panels = [
    panel(
      `CPU of a step, in a session of ${steps} steps`,
      ({ sessions }) => (sessions[steps] ?? []).map(({ cpuMs }) => cpuMs),
      "ms",
    ),
    panel(
      "Opening it again, until the model is called",
      ({ called }) => called.map(({ ms }) => ms),
      "ms",
    ),
    panel("Streamed text that is there after a kill", shareKept, "%"),
  ];
  return chart(
    panels,
    `Medians of ${runs} rounds in fresh processes, on ${at.slice(0, 10)} at ${commit}. ${machine}.`,
  );
}

function bar(
  { label, role }: Result,
  values: readonly number[],
  unit: string,
): readonly ChartBar[] {
  if (values.length === 0) return [];
  const value = median(values);
  const text = `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
  return [{ label, value, text, isOurs: role === "turnlog" }];
}
