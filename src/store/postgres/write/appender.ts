/**
 * Takes appends and keeps the callers' order in each session. Most appends get their positions at once. An
 * append waits in line if the session is not read yet or its events have ids.
 */

import {
  type Appended,
  type AppendOptions,
  assertAppendable,
  type Codec,
  type ExpectedRevision,
  idOf,
  type NewEvent,
  TurnlogError,
} from "../../../events/index.ts";
import { eventRows, type EventRow } from "../../event-rows/index.ts";
import {
  checkRevision,
  deletedError,
  hasIds,
  nothingToAppend,
  refusedBefore,
} from "../../log-rules/index.ts";
import type { Sql } from "../database/index.ts";
import type { Head, Heads } from "../heads/index.ts";
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
  /** By session, the writers whose append was refused, and why: their later appends build on the refused one. */
  readonly #without = new WeakMap<object, Map<string, unknown>>();
  readonly #waiting = new Set<Promise<unknown>>();

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
    return this.inLine(head, async () => {
      try {
        const repeated = await findIds(sql, schema, head, events);
        return repeated ?? { appended: this.#queue(head, expected, events, options) };
      } catch (error) {
        throw this.#refused(session, error, options.writer);
      }
    });
  }

  /** Decides appends anew whose session another process has written to. */
  again(head: Head, appends: readonly QueuedAppend[]): void {
    for (const { expected, events, options, answer } of appends) {
      const decided = this.inLine(head, async () => {
        const { sql, schema } = this.#options;
        const repeated = await findIds(sql, schema, head, events);
        return repeated ?? { appended: this.#queue(head, expected, events, options) };
      });
      decided.then(answer.resolve, answer.reject);
    }
  }

  /** Runs `act` when the session is read and all earlier appends to it have their positions. */
  async inLine<Result>(
    head: Head,
    act: () => Promise<{ readonly appended: Result | Promise<Result> }>,
  ): Promise<Result> {
    head.waiting++;
    const queued = head.line.then(async () => {
      await head.loaded;
      return await act();
    });
    // The error goes to the caller of `append`; it does not concern the appends behind it.
    head.line = queued.then(
      () => undefined,
      () => undefined,
    );
    this.#waiting.add(queued);
    const { appended } = await queued.finally(() => {
      head.waiting--;
      this.#waiting.delete(queued);
    });
    return await appended;
  }

  /** Resolves when every append that waits has its positions or was refused. */
  async settled(): Promise<void> {
    while (this.#waiting.size > 0) await Promise.allSettled(this.#waiting);
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
      const before = writer && this.#without.get(writer);
      if (before?.has(head.session)) throw refusedBefore(head.session, before.get(head.session));
      checkRevision(head, expected);
      if (events.length === 0) throw nothingToAppend(head);
      const base = head.revision;
      for (const [index, event] of events.entries())
        assertAppendable(head.session, base + 1 + index, event, { ...(origin && { origin }) });
      const rows = this.#encode(head.session, base, events);
      const answer = Promise.withResolvers<Appended>();
      append = { head, expected, events, options, base, rows, answer };
    } catch (error) {
      return Promise.reject(asError(this.#refused(head.session, error, writer)));
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

  /** Remembers that a writer was refused in a session, and returns the error to throw. */
  #refused(session: string, error: unknown, writer: object | undefined): unknown {
    if (writer === undefined) return error;
    const refusals = this.#without.get(writer) ?? new Map<string, unknown>();
    this.#without.set(writer, refusals);
    // The first refusal is the reason of all later ones.
    if (!refusals.has(session)) refusals.set(session, error);
    return error;
  }

  #encode(session: string, revision: number, events: readonly NewEvent[]): readonly EventRow[] {
    const rows: EventRow[] = [];
    try {
      for (const row of eventRows(this.#options.codec, session, revision, events)) rows.push(row);
    } catch (error) {
      const position = (rows.at(-1)?.position ?? revision) + 1;
      throw new TurnlogError(
        "EVENT_INVALID",
        `An event of type ${events[position - revision - 1]?.type} cannot be stored in ${session}: its data is not JSON. Convert it before it is appended.`,
        { session, position, cause: error },
      );
    }
    return rows;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error), { cause: error });
}
