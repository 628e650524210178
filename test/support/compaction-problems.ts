/** Law 8, as far as a log tells: every compaction ends, none grows the prompt, and none continues forever. */

import type { Replay } from "./replay.ts";

/** Of the prompt before, what may remain. */
const LARGEST_REMAINDER = 0.9;
/** Compactions that the runtime may begin by itself for one step: two, and one behind a second refusal. */
const MOST_ATTEMPTS = 3;

export function compactionProblems({ events }: Replay): readonly string[] {
  const problems: string[] = [];
  let running: number | undefined;
  let attempts = 0;
  for (const event of events) {
    const { position, type } = event;
    switch (event.type) {
      case "context.compaction-started":
        if (running !== undefined)
          problems.push(`${position}: the compaction at ${running} has not ended`);
        running = position;
        if (event.data.trigger !== "asked") attempts += 1;
        if (attempts > MOST_ATTEMPTS)
          problems.push(`${position}: attempt ${attempts} for one step`);
        break;
      case "context.compacted": {
        const { beforeTokens, afterTokens } = event.data;
        if (afterTokens > LARGEST_REMAINDER * beforeTokens) {
          problems.push(`${position}: ${afterTokens} tokens are left of ${beforeTokens}`);
        }
        if (running === undefined) problems.push(`${position}: no compaction had begun`);
        running = undefined;
        break;
      }
      case "context.compaction-rejected":
        if (running === undefined) problems.push(`${position}: no compaction had begun`);
        running = undefined;
        break;
      case "context.summary-rejected":
        if (running === undefined) problems.push(`${position}: nobody asked for a summary`);
        break;
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
      case "turn.started":
        attempts = 0;
        break;
      default:
        if (running !== undefined && (type.startsWith("part.") || type === "step.started")) {
          problems.push(`${position} ${type}: the compaction at ${running} has not ended`);
        }
    }
  }
  return problems;
}
