/** The counter of a replay: the log answers for the provider, and no count that was not made is made. */

import type { SessionEvent } from "../events/index.ts";
import { recordedError, type ReplayPace } from "../models/index.ts";
import type { ContextOptions } from "../agent/index.ts";

type TokenCounter = NonNullable<ContextOptions["counter"]>;

/** What the agent's counter answered, or threw; `position` is where the replayed session stands. */
export function replayedCounter(
  { name }: TokenCounter,
  events: readonly SessionEvent[],
  pace: ReplayPace,
  position: () => number,
): TokenCounter {
  return {
    name,
    async count() {
      const outcome = nextOutcome(events, position());
      // Nobody saw what it answered.
      if (outcome === undefined) return await new Promise<never>(() => {});
      await pace.due(outcome.position);
      switch (outcome.type) {
        case "context.counted":
          return outcome.data.tokens;
        case "context.count-failed":
          throw recordedError(outcome.data.error);
        default:
          throw new Error("No count was recorded here.");
      }
    },
  };
}

/** What follows from the compaction that has begun, its end at the latest; undefined where its process died before. */
function nextOutcome(events: readonly SessionEvent[], position: number): SessionEvent | undefined {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type === "session.recovered" || type.startsWith("context.")),
  );
  return next?.type === "session.recovered" ? undefined : next;
}
