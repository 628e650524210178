/** What every panel of a session gets: the log, the position that is seen, and the state there. */

import type { SessionFeed } from "../data/session-feed.ts";
import type { Step } from "../data/steps.ts";
import type { StateAt } from "../data/types.ts";

export interface Seen {
  readonly feed: SessionFeed;
  /** Undefined: the end of the log, which moves. */
  readonly at: number | undefined;
  /** The last position of the log. */
  readonly end: number;
  /** How often the log was read: content that earlier answers have may be redacted. */
  readonly reading: number;
  /** Changes with each structural event. */
  readonly structure: number;
  /** False while the beginning of a long log is loaded. */
  readonly isWhole: boolean;
  readonly steps: readonly Step[];
  /** The state at the position, or the one before until it is there. */
  readonly state?: StateAt;
  readonly stateError?: string;
}

export const positionOf = ({ at, end }: Pick<Seen, "at" | "end">): number => at ?? end;
