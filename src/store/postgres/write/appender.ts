/** Gives appends their positions, unless another process writes first, and passes them to the committer. */

import { type Appended, elsewhere, type Codec, idOf } from "../../../events/index.ts";
import { AppendQueue } from "../../log-rules/append-queue.ts";
import { rowsToAppend } from "../../log-rules/append-rules.ts";
import type { Sql } from "../database/rows.ts";
import type { Head } from "../heads/stored-sessions.ts";
import type { Committer } from "./committer.ts";
import { findIds } from "./known-ids.ts";
import type { QueuedAppend } from "./batch.ts";

export interface AppenderOptions {
  readonly sql: Sql;
  readonly schema: string;
  readonly codec: Codec;
  readonly committer: Committer;
}

export class Appender extends AppendQueue<Head> {
  constructor({ sql, schema, codec, committer }: AppenderOptions) {
    super({
      repeated: (head, events) => findIds(sql, schema, head, events),
      assertUsable: ({ session, epoch }, options) => {
        if (options.epoch !== undefined && options.epoch < epoch) throw elsewhere(session);
      },
      queue: (head, expected, events, options) => {
        const base = head.revision;
        const rows = rowsToAppend(codec, head, expected, events, options);
        const answer = Promise.withResolvers<Appended>();
        head.revision += events.length;
        const append = { head, expected, events, options, base, rows, answer };
        const appended = committer.append(append);
        noteIds(append, appended);
        return appended;
      },
    });
  }

  /** Decides again about appends to a session that another process has written to. */
  again(appends: readonly QueuedAppend[]): void {
    for (const { head, expected, events, options, answer } of appends)
      this.inLine(head, expected, events, options).then(answer.resolve, answer.reject);
  }
}

function noteIds({ head, events, base }: QueuedAppend, appended: Promise<Appended>): void {
  for (const [index, event] of events.entries()) {
    const id = idOf(event);
    if (id === undefined) continue;
    const position = base + 1 + index;
    const written = appended.then((end) => end.position - (end.revision - position));
    written.catch(() => {});
    head.ids.set(id, { position, written });
  }
}
