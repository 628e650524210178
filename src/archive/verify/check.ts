/** One law, looked at event by event while a log is folded. Pure. */

import type { SessionEvent } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";

/**
 * What can be wrong with a log:
 * - `readable`: checksums, positions without a gap, schemas, and the store's own lists of events.
 * - `order`: turns and steps are numbered without a gap, and none begins inside another.
 * - `messages`: an accepted message is delivered once, withdrawn once, or still waiting (law 5).
 * - `calls`: every tool call ends, once, in one of five ways (law 6).
 * - `figures`: the tokens of the steps add up to those of turns and session (law 7).
 * - `contents`: a prompt can contain what each event says, and is made of that alone.
 * - `prompts`: every prompt that was sent can be rebuilt from the log (law 11).
 * - `thinned`: what was taken out of the log later is what an event says.
 * - `chain`: every link of a hash chain says the digest of the events that it covers.
 * - `blobs`: every blob that the session has is there, with the bytes that were stored.
 * - `forks`: a fork begins with the event that says where it branches off.
 * - `states`: what is kept of the session's state is what its events say (laws 2 and 3).
 */
export type LogRule =
  | "readable"
  | "order"
  | "messages"
  | "calls"
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
  /** What is wrong with an event, in words, given the state before it. */
  see(event: SessionEvent, before: SessionState): readonly string[];
  /** What is wrong when the log ends here. */
  end(last: SessionState): readonly string[];
}

export const nothing: readonly string[] = [];
