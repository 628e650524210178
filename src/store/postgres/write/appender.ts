/**
 * Takes appends and keeps the callers' order in each session. Most appends get their positions at once. An
 * append waits in line if the session is not read yet or its events have ids.
 */

import {
  type Appended,
  type AppendOptions,
  assertAppendable,
  elsewhere,
  type Codec,
  type ExpectedRevision,
  idOf,
  type NewEvent,
} from "../../../events/index.ts";
import { encodedRows } from "../../event-rows/index.ts";
import {
  AppendLine,
  checkRevision,
  hasIds,
  nothingToAppend,
  RefusedWriters,
} from "../../log-rules/append-rules.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import type { Sql } from "../database/rows.ts";
import type { Head } from "../heads/stored-sessions.ts";
import type { Heads } from "../heads/heads.ts";
import type { Committer } from "./committer.ts";
import { findIds } from "./known-ids.ts";
import type { QueuedAppend } from "./queued-append.ts";

export interface AppenderOptions {
  readonly sql: Sql;
  readonly schema: string;
  readonly codec: Codec;
  readonly heads: Heads;
  readonly committer: Committer;
}

export class Appender {
  readonly #options: AppenderOptions;
  readonly #refused = new RefusedWriters();
  readonly line = new AppendLine();

  constructor(options: AppenderOptions) {
    this.#options = options;
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions = {},
  ): Promise<Appended> {
    const { sql, schema, heads } = this.#options;
    const head = heads.of(session);
    if (head.ready && head.waiting === 0 && !hasIds(events))
      return this.#queue(head, expected, events, options);
    return this.line.run(head, async () => {
      try {
        const repeated = await findIds(sql, schema, head, events);
        return repeated ?? { appended: this.#queue(head, expected, events, options) };
      } catch (error) {
        throw this.#refused.remember(session, error, options.writer);
      }
    });
  }

  /** Decides again about appends to a session that another process has written to. */
  again(head: Head, appends: readonly QueuedAppend[]): void {
    for (const { expected, events, options, answer } of appends) {
      const decided = this.line.run(head, async () => {
        const { sql, schema } = this.#options;
        const repeated = await findIds(sql, schema, head, events);
        return repeated ?? { appended: this.#queue(head, expected, events, options) };
      });
      decided.then(answer.resolve, answer.reject);
    }
  }

  /** From here on the events have their positions, unless another process writes first. */
  #queue(
    head: Head,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    const { writer, origin } = options;
    let append: QueuedAppend;
    try {
      if (head.isDeleted) throw deletedError(head.session);
      if (options.epoch !== undefined && options.epoch < head.epoch) throw elsewhere(head.session);
      this.#refused.assertNone(head.session, writer);
      checkRevision(head, expected);
      if (events.length === 0) throw nothingToAppend(head);
      const base = head.revision;
      for (const [index, event] of events.entries())
        assertAppendable(head.session, base + 1 + index, event, { ...(origin && { origin }) });
      const rows = encodedRows(this.#options.codec, head.session, base, events);
      const answer = Promise.withResolvers<Appended>();
      append = { head, expected, events, options, base, rows, answer };
    } catch (error) {
      return Promise.reject(asError(this.#refused.remember(head.session, error, writer)));
    }
    head.revision += events.length;
    const appended = this.#options.committer.append(append);
    for (const [index, event] of events.entries()) {
      const id = idOf(event);
      if (id === undefined) continue;
      const position = append.base + 1 + index;
      const written = appended.then((end) => end.position - (end.revision - position));
      written.catch(() => {});
      head.ids.set(id, { position, written });
    }
    return appended;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error), { cause: error });
}
