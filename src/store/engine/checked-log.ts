/**
 * The log on any engine. What every log does the same way is here and nowhere else: it checks arguments, knows
 * whether it is open, serves followers, and tells listeners of changes.
 */

import { z } from "zod";
import {
  isSessionId,
  parseSessionId,
  rejected,
  type Appended,
  type AppendOptions,
  type BlobStore,
  type CursorStore,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type EventLog,
  type ExpectedRevision,
  type FollowOptions,
  type ForkEvents,
  type GlobalEvent,
  type Inbox,
  type NewEvent,
  type Ownership,
  type ReadRange,
  type SessionEntry,
  type SessionEvent,
  type Snapshot,
} from "../../events/index.ts";
import { plainEvents } from "../../shared/index.ts";
import {
  check,
  code,
  flag,
  implementation,
  many,
  name,
  oneOf,
  optionsOf,
  text,
  thing,
} from "../../validation/index.ts";
import { Following } from "./following.ts";
import { checkRevision, forkPoint } from "../log-rules/append-rules.ts";
import { assertPositions, closedError, deletedError } from "../log-rules/log-errors.ts";
import type { Engine, Followers } from "./engine.ts";

const anything = z.unknown();
const signal = implementation({ addEventListener: code });
const whole = thing(
  "a position, which is a whole number of at least 0",
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);

// Positions are checked where they are used.
const appendSchema = optionsOf<Omit<AppendOptions, "epoch">>(
  { writer: anything, origin: anything },
  {},
);
const ownedAppendSchema = optionsOf<AppendOptions>(
  { writer: anything, origin: anything, epoch: many },
  {},
);
const readSchema = optionsOf<ReadRange>(
  { from: anything, to: anything, backwards: flag, limit: anything },
  {},
);
const followSchema = optionsOf<FollowOptions>({ from: anything, signal }, {});
const readAllSchema = optionsOf<Pick<FollowOptions, "from">>({ from: anything }, {});
const listSchema = optionsOf<{ readonly prefix?: string }>({ prefix: text }, {});
const snapshotSchema = optionsOf<Snapshot>(
  {},
  { projection: text, version: anything, position: whole, state: anything },
);
/** Not every store keeps others as they are. */
const whoever = thing<string>(
  "a text that is not empty, without characters that are half of a pair or zero",
  (value) => typeof value === "string" && /^[^\0]+$/.test(value) && value.isWellFormed(),
);
const deleteSchema = optionsOf<DeleteOptions>(
  { forks: oneOf("refuse", "copy"), by: whoever, spent: anything },
  {},
);

/** Those over all sessions have an empty name. */
function snapshotName(session: string): string {
  return session === "" ? "" : parseSessionId(session);
}

/** Makes a log of an engine. */
export function checkedLog(engine: Engine): EventLog {
  return new CheckedLog(engine);
}

export class CheckedLog implements EventLog {
  readonly blobs: BlobStore | undefined;
  readonly cursors: CursorStore | undefined;
  readonly ownership: Ownership | undefined;
  readonly inbox: Inbox | undefined;
  /** Only where no other process changes the store. */
  readonly onChange?: NonNullable<EventLog["onChange"]>;
  readonly #engine: Engine;
  readonly #followers: Followers;
  /** Of an engine without followers of its own. */
  readonly #following: Following | undefined;
  readonly #listeners = new Set<(session: string) => void>();
  /** Calls of an engine without followers of its own. They end before it is closed. */
  readonly #working = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
    if (engine.followers === undefined) this.#followers = this.#following = new Following(engine);
    else this.#followers = engine.followers;
    if (plainEvents in engine) Object.assign(this, { [plainEvents]: true });
    this.blobs = engine.blobs;
    this.ownership = engine.ownership;
    this.inbox = engine.inbox;
    this.cursors = engine.cursors && this.#checkedCursors(engine.cursors);
    if (engine.others === undefined) this.onChange = (listener) => this.#listen(listener);
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended> {
    try {
      this.#assertWritable();
      if (options !== undefined) this.#checkAppend("append", session, options);
      parseSessionId(session);
      return this.#told(session, this.#engine.append(session, expected, events, options ?? {}));
    } catch (error) {
      return rejected(error);
    }
  }

  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions = {},
  ): Promise<Appended> {
    this.#assertWritable();
    this.#checkAppend("appendParts", session, options);
    parseSessionId(session);
    const appended =
      this.#engine.appendParts?.(session, parts, options) ?? this.#atOnce(session, parts, options);
    return await this.#told(session, this.#work(appended));
  }

  fork(session: string, events: ForkEvents): Promise<Appended> {
    try {
      this.#assertWritable();
      const link = forkPoint(session, events);
      parseSessionId(session);
      parseSessionId(link.session);
      return this.#told(session, this.#work(this.#engine.fork(session, link, events)));
    } catch (error) {
      return rejected(error);
    }
  }

  /** No generator of its own: it would slow a read by some percent. */
  read(session: string, range: ReadRange = {}): AsyncIterable<SessionEvent> {
    check(readSchema, range, "read", { name: "range", session });
    assertPositions(parseSessionId(session), [range.from, range.to, range.limit]);
    return {
      [Symbol.asyncIterator]: () => {
        this.assertOpen();
        return this.#engine.read(session, range)[Symbol.asyncIterator]();
      },
    };
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    this.assertOpen();
    assertPositions(parseSessionId(session), positions);
    if (this.#engine.readAt !== undefined) return await this.#engine.readAt(session, positions);
    const found: SessionEvent[] = [];
    for (const position of positions)
      for await (const event of this.#engine.read(session, { from: position, to: position }))
        found.push(event);
    return found;
  }

  subscribe(session: string, options: FollowOptions = {}): AsyncIterableIterator<SessionEvent> {
    this.assertOpen();
    check(followSchema, options, "subscribe", { name: "options", session });
    assertPositions(parseSessionId(session), [options.from]);
    return this.#followers.session(session, Math.max(options.from ?? 1, 1), options.signal);
  }

  async *readAll(options: { readonly from?: number } = {}): AsyncGenerator<GlobalEvent> {
    this.assertOpen();
    check(readAllSchema, options, "readAll", { name: "options" });
    const { from = 1 } = options;
    assertPositions("all sessions", [from]);
    yield* this.#engine.readAll(Math.max(from, 1), await this.#engine.end());
  }

  subscribeAll(options: FollowOptions = {}): AsyncIterableIterator<GlobalEvent> {
    this.assertOpen();
    check(followSchema, options, "subscribeAll", { name: "options" });
    assertPositions("all sessions", [options.from]);
    return this.#followers.all(Math.max(options.from ?? 1, 1), options.signal);
  }

  async revision(session: string): Promise<number> {
    this.assertOpen();
    return (await this.#engine.head(parseSessionId(session))).revision;
  }

  async *list(options: { readonly prefix?: string } = {}): AsyncGenerator<SessionEntry> {
    this.assertOpen();
    check(listSchema, options, "list", { name: "options" });
    const { prefix = "" } = options;
    // What no name begins with may be a text that the store cannot hold.
    if (prefix === "" || isSessionId(prefix)) yield* this.#engine.list(prefix);
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    this.#assertWritable();
    const { snapshots } = this.#engine;
    if (snapshots === undefined) return;
    check(snapshotSchema, snapshot, "saveSnapshot", { name: "snapshot", session });
    await this.#work(snapshots.save(snapshotName(session), snapshot));
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    this.assertOpen();
    return await this.#engine.snapshots?.load(snapshotName(session), projection);
  }

  async loadSnapshots(
    sessions: readonly string[],
    projection: string,
  ): Promise<readonly (Snapshot | undefined)[]> {
    this.assertOpen();
    const { snapshots } = this.#engine;
    if (snapshots === undefined) return sessions.map(() => undefined);
    if (snapshots.loadMany !== undefined) return await snapshots.loadMany(sessions, projection);
    return await Promise.all(sessions.map((session) => snapshots.load(session, projection)));
  }

  async delete(session: string, options: DeleteOptions = {}): Promise<Deleted> {
    this.#assertWritable();
    check(deleteSchema, options, "delete", { name: "options", session });
    const deleting = this.#work(this.#engine.delete(parseSessionId(session), options));
    return await this.#told(session, deleting);
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    this.assertOpen();
    yield* this.#engine.deleted();
  }

  close(): Promise<void> {
    this.#closed ??= this.end();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  protected async end(): Promise<void> {
    while (this.#working.size > 0) await Promise.allSettled(this.#working);
    await this.#following?.end();
    await this.#engine.close();
  }

  async #atOnce(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions,
  ): Promise<Appended> {
    const { revision, isDeleted } = await this.#engine.head(session);
    if (isDeleted) throw deletedError(session);
    checkRevision({ session, revision }, "none");
    const events = (await Array.fromAsync(parts)).flat();
    return await this.#engine.append(session, "none", events, options);
  }

  #checkAppend(method: string, session: string, options: AppendOptions): void {
    // Claims of one process have no epoch.
    const hasEpochs = method === "append" && this.#engine.others !== undefined;
    const schema = hasEpochs ? ownedAppendSchema : appendSchema;
    check(schema, options, method, { name: "options", session });
  }

  #checkedCursors(cursors: CursorStore): CursorStore {
    return {
      load: async (consumer) => {
        this.assertOpen();
        check(name, consumer, "cursors.load", { name: "name" });
        return await cursors.load(consumer);
      },
      save: async (consumer, position) => {
        this.#assertWritable();
        check(name, consumer, "cursors.save", { name: "name" });
        check(whole, position, "cursors.save", { name: "position" });
        await this.#work(cursors.save(consumer, position));
      },
    };
  }

  #listen(listener: (session: string) => void): Disposable {
    this.assertOpen();
    // A function of its own for each call, so that one listener may be given twice.
    const called = (session: string): void => {
      listener(session);
    };
    this.#listeners.add(called);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(called);
      },
    };
  }

  /** An engine with followers of its own ends what runs itself. */
  #work<Result>(work: Promise<Result>): Promise<Result> {
    if (this.#following === undefined) return work;
    const ended = work.finally(() => this.#working.delete(ended));
    this.#working.add(ended);
    return ended;
  }

  /** With followers of the engine and without listeners, the same promise: an append waits for nothing else. */
  #told<Done extends Appended | Deleted>(session: string, change: Promise<Done>): Promise<Done> {
    const following = this.#following;
    if (following === undefined && this.#listeners.size === 0) return change;
    const told = this.#work(
      change.then((done) => {
        for (const listener of this.#listeners) listener(session);
        return done;
      }),
    );
    // A caller that waits for its append continues before followers see the events.
    told.then(
      (done) => following?.wrote(session, "position" in done ? done.revision : undefined),
      // It may have been made nevertheless.
      () => following?.look([session]),
    );
    return told;
  }

  protected assertOpen(): void {
    if (this.#closed !== undefined) throw closedError();
  }

  #assertWritable(): void {
    this.assertOpen();
    const { refused } = this.#engine;
    if (refused !== undefined) throw refused();
  }
}
