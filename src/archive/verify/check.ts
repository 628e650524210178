/** The interface of one check of a law, which runs event by event while a log is folded. Pure. */

import type { SessionEvent } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";

/**
 * The rules that a log must keep:
 * - `readable`: checksums, positions without a gap, schemas, and the store's own lists of events.
 * - `order`: turns and steps are numbered without a gap, and none begins inside another.
 * - `messages`: an accepted message is delivered once, withdrawn once, or still waiting (law 5).
 * - `branches`: a rewind names a boundary between turns, or the head of a branch (law 12).
 * - `pages`: page, history and next prompt of the active branch have the same turns (law 14).
 * - `calls`: every tool call ends, once, in one of five ways (law 6).
 * - `identity`: no reply has two calls of one id (law 16), as those of earlier releases may have.
 * - `figures`: the tokens of the steps add up to those of turns and session (law 7).
 * - `contents`: a prompt can contain the content of each event.
 * - `prompts`: every prompt that was sent can be rebuilt from the log (law 11).
 * - `thinned`: an event records every trim.
 * - `chain`: every link of a hash chain has the digest of the events that it covers.
 * - `blobs`: every blob of the session exists, with the bytes that were stored.
 * - `forks`: a fork begins with the event that names its origin.
 * - `states`: stored states equal the fold of the events (laws 2 and 3).
 */
export type LogRule =
  | "readable"
  | "order"
  | "messages"
  | "branches"
  | "pages"
  | "calls"
  | "identity"
  | "figures"
  | "contents"
  | "prompts"
  | "thinned"
  | "chain"
  | "blobs"
  | "forks"
  | "states";

export interface Check {
  readonly rule: LogRule;
  /** Faults of an event, in words, given the state before it. */
  onEvent(event: SessionEvent, before: SessionState): readonly string[];
  /** Faults of the log as a whole, after its last event. */
  onEnd?(last: SessionState): readonly string[];
}

export const noFaults: readonly string[] = [];
