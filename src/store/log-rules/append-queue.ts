/**
 * The order of appends to a session. Most appends get their positions at once. An append waits in line if the session
 * is not read from the store yet, or its events have ids that must be looked up.
 */

import {
  TurnlogError,
  type Appended,
  type AppendOptions,
  type ExpectedRevision,
  type ForkPoint,
  type NewEvent,
} from "../../events/index.ts";
import { hasIds, idsOf, repeatedAt } from "./append-rules.ts";
import type { IdPlace, WaitingHead } from "./heads.ts";
import { deletedError } from "./log-errors.ts";

type Queued<Result> = Promise<{ readonly appended: Result | Promise<Result> }>;

export interface AppendQueueOptions<Head> {
  /** Those of the ids that the store has, in the session or in what it shares by the link. */
  readonly look: (
    head: Head,
    ids: readonly string[],
    link: ForkPoint | undefined,
  ) => Promise<Iterable<readonly [id: string, place: IdPlace]>>;
  /** @throws TurnlogError if nothing can be appended now */
  readonly assertUsable?: (head: Head, options: AppendOptions) => void;
  /** Gives the events their positions. @throws TurnlogError the refusal */
  readonly queue: (
    head: Head,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ) => Promise<Appended>;
}

export class AppendQueue<Head extends WaitingHead> {
  readonly #options: AppendQueueOptions<Head>;
  readonly #refused = new RefusedWriters();
  readonly #waiting = new Set<Promise<unknown>>();

  constructor(options: AppendQueueOptions<Head>) {
    this.#options = options;
  }

  append(
    head: Head,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    if (head.ready && head.waiting === 0 && !hasIds(events))
      return this.#queue(head, expected, events, options);
    return this.inLine(head, expected, events, options);
  }

  /** As {@link append}, after all appends that wait. */
  inLine(
    head: Head,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    return this.run<Appended>(head, async () => {
      try {
        const earlier = await this.repeated(head, events);
        return earlier ?? { appended: this.#queue(head, expected, events, options) };
      } catch (error) {
        throw this.#refused.remember(head.session, error, options.writer);
      }
    });
  }

  /**
   * Makes appends idempotent: what an earlier append of the same events returned, undefined if none of their ids is
   * known. Ids of shared events count. `fork`: the link of a fork that is about to be created.
   * @throws TurnlogError `EVENT_ID_CONFLICT` when only some ids are known, or one id is used twice
   */
  async repeated(
    head: Head,
    events: readonly NewEvent[],
    fork?: ForkPoint,
  ): Promise<{ readonly appended: Promise<Appended> } | undefined> {
    const ids = idsOf(head, events);
    const found = new Map<string, IdPlace>();
    for (const id of ids) {
      const queued = head.ids.get(id);
      if (queued !== undefined) found.set(id, queued);
    }
    const others = ids.filter((id) => !found.has(id));
    if (others.length > 0) {
      // A session that is there, or the session itself, is no fork to be: its links would form a circle.
      const isNew = head.revision === 0 && fork?.session !== head.session;
      const link = head.link ?? (isNew ? fork : undefined);
      for (const [id, place] of await this.#options.look(head, others, link)) found.set(id, place);
    }
    const last = repeatedAt(head, ids, found);
    if (last === undefined) return undefined;
    const { position: revision, written } = last;
    return {
      appended: written().then((position) => ({ revision, position, repeated: true })),
    };
  }

  #queue(
    head: Head,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    try {
      this.#options.assertUsable?.(head, options);
      if (head.isDeleted) throw deletedError(head.session);
      this.#refused.assertNone(head.session, options.writer);
      const appended = this.#options.queue(head, expected, events, options);
      const { writer } = options;
      if (writer !== undefined)
        appended.catch((error: unknown) => this.#refused.remember(head.session, error, writer));
      return appended;
    } catch (error) {
      throw this.#refused.remember(head.session, error, options.writer);
    }
  }

  /**
   * Runs `act` when the session is read and all earlier appends to it have their positions. Its answer is wrapped, so
   * that the line continues when the append is queued, not when it is written.
   */
  async run<Result>(head: Head, act: () => Queued<Result>): Promise<Result> {
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
}

/** Remembers the writers whose append was refused: their later appends would build on events that are missing. */
export class RefusedWriters {
  /** The first refusal of each writer in a session is the reason of all later ones. */
  readonly #reasons = new WeakMap<object, Map<string, unknown>>();

  /** Returns the error to throw. */
  remember(session: string, error: unknown, writer: object | undefined): unknown {
    if (writer === undefined) return error;
    const reasons = this.#reasons.get(writer) ?? new Map<string, unknown>();
    this.#reasons.set(writer, reasons);
    if (!reasons.has(session)) reasons.set(session, error);
    return error;
  }

  /** @throws TurnlogError if an append of the writer was refused before */
  assertNone(session: string, writer: object | undefined): void {
    const reasons = writer && this.#reasons.get(writer);
    if (reasons?.has(session)) throw refusedBefore(session, reasons.get(session));
  }
}

function refusedBefore(session: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "REVISION_CONFLICT",
    `This append to session ${session} follows one that was refused. Read the events since then, decide again, and append as a new writer.`,
    { session, cause },
  );
}
