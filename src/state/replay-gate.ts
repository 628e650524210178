/**
 * When what ends by itself is put on record: at once, but in a replay, where it waits for all that was
 * recorded before it. Of what a process does in one moment, what comes first is chance.
 */

/** What has come to its end. */
export type Ending =
  /** A model call, or the wait for its next attempt. */
  | { readonly kind: "step" }
  /** Of a call: its run, or the question whether it needs approval. */
  | { readonly kind: "call" | "decision"; readonly callId: string }
  /** What a compaction does by itself; what came of asking a model for its summary. */
  | { readonly kind: "compaction" | "summary" };

/** Resolves when it is to be recorded. */
export type ReplayGate = (ending: Ending) => Promise<void>;
