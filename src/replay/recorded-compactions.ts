/** The recorded compactions, and the answers of models that were asked for summaries. Pure. */

import type { SessionEvent } from "../events/index.ts";

type CompactionEnd = SessionEvent<"context.compacted" | "context.compaction-rejected">;

/** The answer of a model to a request for a summary. */
export type SummaryOutcome = SessionEvent<"context.summary-rejected" | "context.compacted">;

export interface RecordedCompaction {
  readonly started: SessionEvent<"context.compaction-started">;
  readonly summaries: readonly SummaryOutcome[];
  /** Undefined if the process died before it. */
  readonly end: CompactionEnd | undefined;
}

export function recordedCompactions(
  events: readonly SessionEvent[],
): readonly RecordedCompaction[] {
  const compactions: RecordedCompaction[] = [];
  for (const event of events) {
    if (event.type === "context.compaction-started") {
      compactions.push({ started: event, summaries: [], end: undefined });
    }
    const last = compactions.at(-1);
    if (last === undefined || last.end !== undefined) continue;
    if (isSummary(event)) {
      compactions[compactions.length - 1] = { ...last, summaries: [...last.summaries, event] };
    }
    if (isEnd(event)) {
      compactions[compactions.length - 1] = { ...(compactions.at(-1) ?? last), end: event };
    }
  }
  return compactions;
}

/** The automatic compactions, in the order in which models were asked for them. */
export function recordedSummaries(events: readonly SessionEvent[]): readonly SummaryOutcome[] {
  return recordedCompactions(events).flatMap(({ started, summaries }) =>
    started.data.trigger === "asked" ? [] : summaries,
  );
}

function isSummary(event: SessionEvent): event is SummaryOutcome {
  if (event.type === "context.summary-rejected") return true;
  const { type, data } = event;
  return type === "context.compacted" && data.rung !== undefined && data.rung !== "digest";
}

/** A compaction that a later process ended has no end of its own. */
function isEnd(event: SessionEvent): event is CompactionEnd {
  if (event.type === "context.compacted") return true;
  return event.type === "context.compaction-rejected" && event.data.why !== "recovered";
}
