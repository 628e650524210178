/** A head: what the writer knows of one session in use, above all its last position. */

import type { LiveTail } from "../../following/live-tail.ts";
import type { LooseRows } from "../../event-rows/index.ts";
import type { Appended, ForkPoint } from "../../../events/index.ts";

export interface PendingBatch {
  promise(appended: Appended): Promise<Appended>;
}

/** Where a queued event with an id is. */
interface QueuedId {
  readonly position: number;
  readonly globalPosition: number;
  readonly batch: PendingBatch;
}

export interface BatchShare {
  readonly batch: PendingBatch;
  readonly head: Head;
  /** The session's index in the commit record. */
  readonly index: number;
  /** Whether the batch contains the first events that the session owns. */
  readonly isFirst: boolean;
  /** The session's last position, and the time of that event, once the batch is written. */
  revision: number;
  updatedAt: number;
  ids: string[] | undefined;
}

export interface Head {
  readonly session: string;
  readonly prefix: string;
  /** Settles when the head is read from the store. Until then only waiting appends use it. */
  readonly loaded: Promise<void>;
  ready: boolean;
  /** The session was deleted: its name cannot be used again. */
  isDeleted: boolean;
  /** A deletion has the session to itself: other changes wait for the end of `line`. */
  isLocked: boolean;
  /** The last position, including queued events. */
  revision: number;
  committed: number;
  createdAt: number;
  updatedAt: number;
  /** Where a fork branches off: its own events begin behind this position. */
  link: ForkPoint | undefined;
  share: BatchShare | undefined;
  /** How many batches with events of this session are not written yet. */
  batches: number;
  /** Settles when every waiting append is queued. */
  line: Promise<void>;
  waiting: number;
  /** Queued events with an id, by id. */
  readonly ids: Map<string, QueuedId>;
  readonly loose: LooseRows;
  tail: LiveTail | undefined;
}
