/** An append that has its positions and waits to be written. */

import type { Appended, AppendOptions, ExpectedRevision, NewEvent } from "../../../events/index.ts";
import type { EventRow } from "../../event-rows/index.ts";
import type { Head } from "../heads/stored-sessions.ts";

export interface QueuedAppend {
  readonly head: Head;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
  readonly options: AppendOptions;
  /** The position that its first row follows. */
  readonly base: number;
  readonly rows: readonly EventRow[];
  readonly answer: PromiseWithResolvers<Appended>;
}
