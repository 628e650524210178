/** The token counter of a replay: it answers from the log instead of the provider. */

import type { SessionEvent } from "../events/index.ts";
import { recordedError, type ReplayPace } from "../models/index.ts";
import type { ContextOptions } from "../agent/index.ts";

type TokenCounter = NonNullable<ContextOptions["counter"]>;

/** Repeats the recorded counts and errors. `position` answers the position of the replayed session. */
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
      // The process died before the answer.
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

/** The next event of the running compaction; undefined if its process died before. */
function nextOutcome(events: readonly SessionEvent[], position: number): SessionEvent | undefined {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type === "session.recovered" || type.startsWith("context.")),
  );
  return next?.type === "session.recovered" ? undefined : next;
}
