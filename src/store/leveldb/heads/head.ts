/** What the writer knows of a session that is in use: its last position, written and queued. */

import type { Appended, ForkPoint } from "../../../events/index.ts";
import type { LiveTail } from "./live-tail.ts";
import type { LooseRows } from "./loose-rows.ts";

/** A batch that is not written yet. */
export interface PendingBatch {
  /** Resolves when it is written. */
  promise(appended: Appended): Promise<Appended>;
}

/** Where an event stands: its position in the session and over all sessions. */
interface Place {
  readonly position: number;
  readonly globalPosition: number;
  /** The batch that writes it, as long as it is not written. */
  readonly batch: PendingBatch;
}

/** What a batch does to one session. */
export interface BatchShare {
  readonly batch: PendingBatch;
  readonly head: Head;
  /** The session's index in the commit record. */
  readonly index: number;
  /** Whether these are the first events of its own. */
  readonly isFirst: boolean;
  /** The session's last position and its time when the batch is written. */
  revision: number;
  updatedAt: number;
  /** Ids of events in this batch. */
  ids: string[] | undefined;
}

export interface Head {
  readonly session: string;
  /** The beginning of its events' keys. */
  readonly prefix: string;
  /** Settles when the head was read from the store; until then only `append`s in line know of it. */
  readonly loaded: Promise<void>;
  ready: boolean;
  /** Its name is used up, and it has nothing any more. */
  isDeleted: boolean;
  /** Somebody is about to delete it, or thins it: what depends on it waits for the end of its line. */
  isLeaving: boolean;
  /** The last position, including what is queued. */
  revision: number;
  /** The last position that is written. */
  committed: number;
  createdAt: number;
  /** Of the last event that is written. */
  updatedAt: number;
  /** Of a fork, where it branches off: its own events begin behind. */
  link: ForkPoint | undefined;
  /** Its part of the batch that it last wrote to. */
  share: BatchShare | undefined;
  /** Batches with events of this session that are not written yet. */
  batches: number;
  /** Ends when the appends that wait for something have been queued. */
  line: Promise<void>;
  waiting: number;
  /** Where events with an id stand that are queued and not written yet. */
  readonly ids: Map<string, Place>;
  /** Rows of the block that is being written. */
  readonly loose: LooseRows;
  /** Where subscribers are handed live events. */
  tail: LiveTail | undefined;
}
