/** A head: what this process knows of one session in use. The database decides; see `write/committer.ts`. */

import type { ForkPoint } from "../../../events/index.ts";
import type { OpenRow } from "../../event-rows/index.ts";
import type { LiveTail } from "../../following/live-tail.ts";

/** A session's entry in the database. */
export interface StoredSession {
  /** Names the session in all other tables; 0 before the session exists. */
  readonly number: number;
  readonly revision: number;
  readonly link: ForkPoint | undefined;
  readonly isDeleted: boolean;
  /** Of the newest claim; 0 before the first. */
  readonly epoch: number;
}

export interface Head {
  readonly session: string;
  /** Settles when the head agrees with the database. Until then appends wait. */
  loaded: Promise<void>;
  ready: boolean;
  number: number;
  isDeleted: boolean;
  epoch: number;
  /** The last position, including queued events. */
  revision: number;
  committed: number;
  link: ForkPoint | undefined;
  /** Appends that wait for the head, or for ids to be looked up, in the order of their calls. */
  line: Promise<void>;
  waiting: number;
  /** Appends that are queued or being written. */
  queued: number;
  /** Positions of queued events with an id. */
  readonly ids: Map<string, QueuedId>;
  readonly open: OpenRow;
  tail: LiveTail | undefined;
}

interface QueuedId {
  readonly position: number;
  /** Resolves with the event's global position when it is written. */
  readonly written: Promise<number>;
}
