/** Law 7: the figures of the steps add up to those of the turns, of the session and of its summary. */

import type { SessionEvent, TokenUsage } from "../../src/events/index.ts";
import { spending, turnUsage } from "../../src/projections/index.ts";
import type { Replay } from "./replay.ts";

type StepEnd = SessionEvent<"step.finished" | "step.failed" | "step.interrupted">;

function isStepEnd(event: SessionEvent): event is StepEnd {
  return (
    event.type === "step.finished" ||
    event.type === "step.failed" ||
    event.type === "step.interrupted"
  );
}

/** What was spent beside the steps: on attempts that were repeated, and on summaries. */
function beside(event: SessionEvent): readonly TokenUsage[] {
  const { usage } =
    event.type === "step.retrying" ||
    event.type === "context.compacted" ||
    event.type === "context.summary-rejected" ||
    event.type === "context.compaction-rejected"
      ? event.data
      : {};
  return usage === undefined ? [] : [usage];
}

/** Only what every step tells: input, output, and whether all of it was measured. */
function sum(usages: readonly TokenUsage[]): string {
  const add = (pick: (usage: TokenUsage) => number): number =>
    usages.reduce((total, usage) => total + pick(usage), 0);
  const basis = usages.every((usage) => usage.basis === "measured") ? "measured" : "estimated";
  return `${add((usage) => usage.inputTokens)} in, ${add((usage) => usage.outputTokens)} out, ${basis}`;
}

function differing(told: Readonly<Record<string, string>>, logged: string): readonly string[] {
  return Object.entries(told).flatMap(([where, figures]) =>
    figures === logged ? [] : [`${where} says ${figures}; the log says ${logged}`],
  );
}

export function figureProblems({ events, last }: Replay): readonly string[] {
  const ends = events.filter(isStepEnd).map(({ data }) => data.usage);
  const turns = [...new Set(last.usage.steps.map(({ turn }) => turn))];
  const ofSteps = {
    "the usage of the steps": sum([last.usage.total]),
    "each step": sum(last.usage.steps.map(({ usage }) => usage)),
    "each turn": sum(turns.map((turn) => turnUsage(last.usage, turn))),
  };
  const ofAll = {
    "the spending": sum([spending(last.usage).total]),
    "the summary": sum([last.summary.total]),
  };
  const wrong = [
    ...differing(ofSteps, sum(ends)),
    ...differing(ofAll, sum([...ends, ...events.flatMap(beside)])),
  ];
  return last.usage.steps.length === ends.length
    ? wrong
    : [...wrong, `the usage has ${last.usage.steps.length} steps, and ${ends.length} ended`];
}
