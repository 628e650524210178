/** Law 7: the figures of the steps add up to those of the turns, of the session and of its summary. */

import type { SessionEvent, TokenUsage } from "../../src/events/index.ts";
import { turnUsage } from "../../src/projections/index.ts";
import type { Replay } from "./replay.ts";

/** What every attempt at a step has spent that has spent anything, in order. */
function spent(events: readonly SessionEvent[]): readonly TokenUsage[] {
  const usages: TokenUsage[] = [];
  let isRunning = false;
  for (const { type, data } of events) {
    if (type === "step.started") isRunning = true;
    const isEnd =
      type === "step.retrying" ||
      type === "step.finished" ||
      type === "step.failed" ||
      type === "step.interrupted";
    if (!isEnd || data.usage === undefined) continue;
    // Between an attempt and the next one nothing is spent.
    if (isRunning) usages.push(data.usage);
    else if (data.usage.inputTokens + data.usage.outputTokens > 0) usages.push(data.usage);
    isRunning = false;
  }
  return usages;
}

/** Only what every step tells: input, output, and whether all of it was measured. */
function sum(usages: readonly TokenUsage[]): string {
  const add = (pick: (usage: TokenUsage) => number): number =>
    usages.reduce((total, usage) => total + pick(usage), 0);
  const basis = usages.every((usage) => usage.basis === "measured") ? "measured" : "estimated";
  return `${add((usage) => usage.inputTokens)} in, ${add((usage) => usage.outputTokens)} out, ${basis}`;
}

export function figureProblems({ events, last }: Replay): readonly string[] {
  const ends = spent(events);
  const all = sum(ends);
  const turns = [...new Set(last.usage.steps.map(({ turn }) => turn))];
  const told = {
    "the usage": sum([last.usage.total]),
    "the summary": sum([last.summary.total]),
    "its steps": sum(last.usage.steps.map(({ usage }) => usage)),
    "its turns": sum(turns.map((turn) => turnUsage(last.usage, turn))),
  };
  const wrong = Object.entries(told).flatMap(([where, figures]) =>
    figures === all ? [] : [`${where} says ${figures}; the steps of the log say ${all}`],
  );
  return last.usage.steps.length === ends.length
    ? wrong
    : [...wrong, `the usage has ${last.usage.steps.length} steps, and ${ends.length} ended`];
}
