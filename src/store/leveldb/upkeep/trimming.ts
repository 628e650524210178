/**
 * Drops what the `session.thinned` events of a session name. The event is recorded first; then rows are
 * replaced in parts. After an interruption each block is complete or trimmed, and the next call
 * continues.
 */

import { eventRows } from "../../event-rows/index.ts";
import {
  type NewEvent,
  type SessionEvent,
  TurnlogError,
  digestIn,
  type TrimRule,
} from "../../../events/index.ts";
import type { Appender, Committer } from "../write/index.ts";
import { listSessions, allRows, snapshotPrefix, under } from "../rows/index.ts";
import type { Erasure } from "./erasure.ts";
import { type Head, type Heads, ownFrom } from "../heads/index.ts";
import { readShared, type SharedSource } from "../read/index.ts";
import { trimmedRows, type TrimmedRows, type TrimRange } from "./trimmed-rows.ts";

export interface TrimOptions {
  /** The session's last position when the caller chose what to drop. */
  readonly expected: number;
  /** One more event with rules to apply. Left out: only the recorded rules are applied. */
  readonly event?: NewEvent<"session.thinned">;
  readonly dryRun?: boolean;
}

export interface TrimmedSession {
  readonly session: string;
  readonly revision: number;
  /** Whether `event` was recorded. It is not if it would change nothing. */
  readonly recorded: boolean;
  readonly events: number;
  /** Bytes of their rows before and after, uncompressed. */
  readonly before: number;
  readonly after: number;
  /** Whether the dropped bytes are gone from the files, as for `EventLog.delete`. False after a dry run. */
  readonly erased: boolean;
}

/** Bytes of new rows in one write, unless two bounding events are further apart. */
const BATCH_BYTES = 64 * 1024;

export interface TrimmingOptions {
  readonly source: SharedSource;
  readonly heads: Heads;
  readonly committer: Committer;
  readonly appender: Appender;
  readonly erasure: Erasure;
}

interface Work {
  readonly range: TrimRange;
  readonly rules: readonly TrimRule[];
  readonly isCut: (position: number) => boolean;
}

interface Sharing {
  readonly fork: string;
  readonly to: number;
}

export class Trimming {
  readonly #options: TrimmingOptions;

  constructor(options: TrimmingOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError as `StoreLog.trim` */
  async trim(session: string, options: TrimOptions): Promise<TrimmedSession> {
    const { heads, appender, erasure } = this.#options;
    const head = heads.of(session);
    const done = await appender.alone(head, async () => {
      checkHead(head, options.expected);
      // No fork begins and no snapshot is saved while rows change.
      head.isLocked = true;
      try {
        return await this.#trimAlone(head, options);
      } finally {
        head.isLocked = false;
      }
    });
    // A dry run drops nothing, so nothing has left the files.
    if (options.dryRun === true) return { ...done, session, erased: false };
    return { ...done, session, erased: await erasure.erase(session) };
  }

  async #trimAlone(
    head: Head,
    { event: added, dryRun = false }: TrimOptions,
  ): Promise<Omit<TrimmedSession, "session" | "erased">> {
    const { committer } = this.#options;
    await committer.flushed();
    const { recorded, links } = await this.#read(head);
    const rules = added === undefined ? recorded : [...recorded, added.data];
    const spans = rules.flatMap((rule) => rule.spans);
    const first = Math.min(...spans.map(({ from }) => from));
    const sharing = await this.#sharing(head.session);
    await this.#refuse(head.session, { rules, first, links, sharing });
    const cuts = new Set(sharing.map(({ to }) => to));
    const { session, revision } = head;
    const range = { session, from: ownFrom(head.link), to: revision };
    const isCut = (position: number): boolean => cuts.has(position);
    const sum = await this.#measure({ range, rules, isCut });
    const before =
      added === undefined ? sum : await this.#measure({ range, rules: recorded, isCut });
    const adds = added !== undefined && sum.events > before.events;
    if (!dryRun) {
      if (adds)
        await committer.append(head, [
          ...eventRows(this.#options.source.codec, session, revision, [added]),
        ]);
      if (sum.events > 0) await this.#write(head, { range, rules, isCut });
    }
    return { revision: head.revision, ...sum, recorded: adds };
  }

  /** Reads the session's rules, and where its hash chain has links. */
  async #read(
    head: Head,
  ): Promise<{ readonly recorded: readonly TrimRule[]; readonly links: readonly number[] }> {
    const recorded: TrimRule[] = [];
    const links: number[] = [];
    for await (const event of this.#events(head, ownFrom(head.link))) {
      if (event.type === "session.thinned") recorded.push(event.data);
      if (digestIn(event) !== undefined) links.push(event.position);
    }
    return { recorded, links };
  }

  async *#events(
    head: Pick<Head, "session" | "link" | "revision">,
    from: number,
  ): AsyncGenerator<SessionEvent> {
    const rows = readShared(this.#options.source, head, {
      from,
      to: head.revision,
      backwards: false,
    });
    for await (const events of rows) for (const event of events) yield event;
  }

  /** All forks that read rows of the session, directly or through other forks. */
  async #sharing(session: string): Promise<readonly Sharing[]> {
    const { database, lineage } = this.#options.source;
    const sharing: Sharing[] = [];
    for await (const { session: fork, forkedFrom } of listSessions(database, "")) {
      if (fork === session || forkedFrom === undefined) continue;
      for await (const { owner, from, to } of lineage.of(fork, forkedFrom, forkedFrom.position))
        if (owner === session && from <= to) sharing.push({ fork, to });
    }
    return sharing;
  }

  async #refuse(
    session: string,
    found: {
      readonly rules: readonly TrimRule[];
      readonly first: number;
      readonly links: readonly number[];
      readonly sharing: readonly Sharing[];
    },
  ): Promise<void> {
    const { rules, first, links, sharing } = found;
    if (links.some((position) => position >= first)) throw isChained(session, session);
    const reasoning = rules.flatMap(({ drop, spans }) => (drop === "reasoning" ? spans : []));
    const forks = sharing.flatMap(({ fork, to }) =>
      reasoning.some(({ from }) => from <= to) ? [fork] : [],
    );
    if (forks.length > 0) throw hasForks(session, forks);
    for (const { fork, to } of sharing) {
      if (to < first) continue;
      const head = await this.#options.heads.load(fork);
      for await (const event of this.#events(head, to + 1))
        if (digestIn(event) !== undefined) throw isChained(session, fork);
    }
  }

  async #measure(work: Work): Promise<Pick<TrimmedSession, "events" | "before" | "after">> {
    const sum = { events: 0, before: 0, after: 0 };
    for await (const { events, before, after } of this.#changes(work)) {
      sum.events += events;
      sum.before += before;
      sum.after += after;
    }
    return sum;
  }

  #changes({ range, rules, isCut }: Work): AsyncGenerator<TrimmedRows> {
    const { database, codec } = this.#options.source;
    return trimmedRows(database, codec, range, rules, isCut);
  }

  async #write(head: Head, work: Work): Promise<void> {
    const { committer, erasure, source } = this.#options;
    const { session } = head;
    const snapshots: string[] = [];
    // Snapshots contain reasoning, but no boundaries of deltas.
    if (work.rules.some(({ drop }) => drop === "reasoning"))
      for await (const [key] of allRows(source.database, under(snapshotPrefix(session))))
        snapshots.push(key);
    await committer.write((rows) => {
      for (const key of snapshots) rows.del(key);
      const note = erasure.note(session);
      if (note !== undefined) rows.put(...note);
    });
    let due: TrimmedRows[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      const changes = due;
      [due, bytes] = [[], 0];
      await committer.write((rows) => {
        for (const change of changes) {
          for (const key of change.replaced) rows.del(key);
          for (const [key, row] of change.rows) rows.put(key, row);
        }
      });
      // Subscribers must read the new rows, not memory.
      head.tail?.forget();
    };
    for await (const change of this.#changes(work)) {
      due.push(change);
      bytes += change.before;
      if (bytes >= BATCH_BYTES) await flush();
    }
    if (due.length > 0) await flush();
  }
}

function checkHead({ session, isDeleted, revision }: Head, expected: number): void {
  if (isDeleted || revision === 0) {
    throw new TurnlogError(
      "SESSION_NOT_FOUND",
      `Session ${session} cannot be trimmed: it does not exist. \`turnlog sessions\` lists the existing ones.`,
      { session },
    );
  }
  if (revision === expected) return;
  throw new TurnlogError(
    "REVISION_CONFLICT",
    `Session ${session} is at position ${revision}, but what to drop was chosen at ${expected}. Choose again.`,
    { session, position: revision, details: { expected, actual: revision } },
  );
}

function isChained(session: string, by: string): TurnlogError {
  const whose = by === session ? "It has a hash chain" : `Its fork ${by} has a hash chain`;
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Nothing of session ${session} was dropped. ${whose} over the events that would change, and trimming would break it. Keep the session whole, or delete it.`,
    { session, details: { chained: by } },
  );
}

function hasForks(session: string, forks: readonly string[]): TurnlogError {
  return new TurnlogError(
    "SESSION_HAS_FORKS",
    `Nothing of session ${session} was dropped: ${forks.join(", ")} share the reasoning with it. Delete those first, keep the steps that they share, or drop boundaries only.`,
    { session, details: { forks } },
  );
}
