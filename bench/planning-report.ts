/** The cost of planning and estimating as text for people, lengths and estimators side by side. */

import { LENGTHS, type EstimatorRow, type Planning, type PlanningRow } from "./planning.ts";
import { table } from "./table.ts";

function length(messages: number): string {
  return `${messages.toLocaleString("en")} messages`;
}

function time(micros: number): string {
  return micros < 1000 ? `${micros.toFixed(1)} µs` : `${(micros / 1000).toFixed(2)} ms`;
}

/** How much more the last takes than the one before it, which has a hundredth of the messages. */
function growth({ micros }: PlanningRow): string {
  const [before = Number.NaN, last = Number.NaN] = micros.slice(-2);
  return (last / before).toFixed(last / before < 10 ? 1 : 0);
}

function plans(rows: readonly PlanningRow[]): string {
  return table([
    ["CPU of one call", ...LENGTHS.map(length), "last ÷ the one before"],
    ...rows.map((row) => [row.what, ...row.micros.map(time), growth(row)]),
  ]);
}

function estimators(rows: readonly EstimatorRow[]): string {
  const names = Object.keys(rows[0]?.micros ?? {});
  return table([
    ["estimating a KB of", ...names.map((name) => `${name} µs`)],
    ...rows.map(({ text, micros }) => [
      text,
      ...names.map((name) => (micros[name] ?? Number.NaN).toFixed(3)),
    ]),
  ]);
}

export function planningText({ rows, estimators: texts }: Planning): string {
  return `${plans(rows)}\n\n${estimators(texts)}`;
}
