/** What a replay takes from its recording instead of asking for it again. The module `replay` makes it, nothing else. */

import type { StepSource } from "../../agent/index.ts";
import type { EventBody, ParentCall } from "../../events/index.ts";

/** The recorded events before a step; none if it was not prepared. */
export type RecordedPreparation = (step: number) => Promise<readonly EventBody[]>;

export interface Recording {
  /** No callback of the agent is called, and no message waits for its time. */
  readonly isReplay?: boolean;
  /** Whether the recorded run accepted the bill or count that comes next. By default it is checked. */
  readonly believesBill?: () => boolean;
  /** The recorded events of `prepareStep` before a step, instead of a call. */
  readonly preparation?: RecordedPreparation;
  /** The texts of prompts that follow a position. It answers undefined if none were recorded. */
  readonly texts?: (
    position: number,
  ) => readonly EventBody<"prompt.text" | "prompt.configured">[] | undefined;
  /** The recorded end or wait of a turn at a limit of spending, if it comes after a position. */
  readonly limit?: (position: number) => EventBody<"turn.limit-reached" | "turn.held"> | undefined;
  /** The recorded move to another model, if it comes after a position. */
  readonly failover?: (position: number) => EventBody<"step.failed-over"> | undefined;
  /** For a candidate: its model calls, watched. */
  readonly around?: (source: StepSource) => StepSource;
  /** For a sub-agent: the call that created its session. */
  readonly parent?: ParentCall;
}
