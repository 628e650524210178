/**
 * The log of a store that another process has open. Reading asks that process for rows and decodes them here, as
 * from a store of its own; every change is refused: commands go to the owner's runtime.
 */

import { firstAbort, textLines } from "../../shared/index.ts";
import { z } from "zod";
import {
  type Appended,
  type BlobEntry,
  type BlobStore,
  createCodec,
  type CursorStore,
  type Deleted,
  type DeletedSession,
  type EventLog,
  type GlobalEvent,
  type ReadRange,
  type SessionEntry,
  type SessionEvent,
  type FollowOptions,
  type Snapshot,
  TurnlogError,
} from "../../events/index.ts";
import { type Client, problemError } from "../../client/index.ts";
import type { LogCall } from "../../server/store/index.ts";
import type { Backup, StoreLog } from "../../store/leveldb/index.ts";

const row = z.tuple([z.int(), z.string()]);
const globalRow = z.tuple([z.int(), z.string(), row]);
const codec = createCodec();

/** Whether a log is read through the process that has its store open. */
export function isOfOwner(log: EventLog): boolean {
  return log instanceof OwnerLog;
}

/** The log of a store that is read by requests. */
export interface ServedLog {
  /** What opened it: a folder, or the address of a server. */
  readonly dir: string;
  readonly client: Client;
  /** The route that takes the calls of the log. */
  readonly path: string;
  /** The error of an answer that was cut off. */
  readonly gone: (cause?: unknown) => TurnlogError;
  /** The error of a change. */
  readonly refuse: () => TurnlogError;
}

export class OwnerLog implements StoreLog {
  readonly dir: string;
  readonly readOnly = true;
  readonly blobs: BlobStore;
  readonly cursors: CursorStore = { load: () => this.#refuse(), save: () => this.#refuse() };
  readonly #served: ServedLog;
  readonly #reopen: (() => Promise<StoreLog>) | undefined;
  readonly #closing = new AbortController();
  /** The log that `reopen` has opened. */
  #next: Promise<StoreLog> | undefined;

  /** @param reopen - Opens the store once the process has closed it. Without it, calls then fail with `LOG_CLOSED`. */
  constructor(served: ServedLog, reopen?: () => Promise<StoreLog>) {
    this.dir = served.dir;
    this.#served = served;
    this.#reopen = reopen;
    this.blobs = this.#ownerBlobs();
  }

  async *read(session: string, range: ReadRange = {}): AsyncGenerator<SessionEvent> {
    yield* this.#events(session, { call: "read", session, range });
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    return await Array.fromAsync(this.#events(session, { call: "readAt", session, positions }));
  }

  async *subscribe(
    session: string,
    { from = 1, signal }: FollowOptions = {},
  ): AsyncGenerator<SessionEvent> {
    yield* this.#events(session, { call: "subscribe", session, from }, signal);
  }

  async *readAll({ from = 1 }: { readonly from?: number } = {}): AsyncGenerator<GlobalEvent> {
    yield* this.#global({ call: "readAll", from });
  }

  async *subscribeAll({ from = 1, signal }: FollowOptions = {}): AsyncGenerator<GlobalEvent> {
    yield* this.#global({ call: "subscribeAll", from }, signal);
  }

  async revision(session: string): Promise<number> {
    return z.int().parse(await this.#one({ call: "revision", session }));
  }

  async *list({ prefix = "" }: { readonly prefix?: string } = {}): AsyncGenerator<SessionEntry> {
    // The owner of this release made them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    for await (const item of this.#items({ call: "list", prefix })) yield item as SessionEntry;
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    for await (const item of this.#items({ call: "deleted" })) yield item as DeletedSession;
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    const item = await this.#one({ call: "loadSnapshot", session, projection });
    // The state is checked by who asked for it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return item as Snapshot | undefined;
  }

  async backup(dir: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Backup> {
    return await this.#served.client.http.json({
      method: "POST",
      path: "/store/backup",
      body: { dir },
      signal,
    });
  }

  append(): Promise<Appended> {
    return this.#refuse();
  }

  fork(): Promise<Appended> {
    return this.#refuse();
  }

  delete(): Promise<Deleted> {
    return this.#refuse();
  }

  saveSnapshot(): Promise<void> {
    return this.#refuse();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // The caller gets the error of a failed opening.
    const next = await this.#next?.catch(() => undefined);
    await next?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #refuse(): Promise<never> {
    return Promise.reject(this.#served.refuse());
  }

  async *#items(asked: LogCall, signal?: AbortSignal): AsyncGenerator {
    using ends = firstAbort(this.#closing.signal, signal);
    let hasBegun = false;
    try {
      if (this.#next === undefined) {
        for await (const item of calledItems(this.#served, asked, ends.signal)) {
          hasBegun = true;
          yield item;
        }
        return;
      }
    } catch (error) {
      // No part of an answer is requested twice.
      if (hasBegun) throw error;
      this.#next ??= this.#after(error);
    }
    const { itemsOf } = await import("../../server/store/index.ts");
    yield* itemsOf(await this.#next, asked, ends.signal);
  }

  /** The log that replaces this one after an error. @throws the error, if no log can */
  #after(error: unknown): Promise<StoreLog> {
    if (!isOwnerGone(error) || this.#reopen === undefined) throw error;
    return this.#reopen();
  }

  async *#blob(digest: string): AsyncGenerator<Uint8Array> {
    try {
      if (this.#next === undefined) {
        yield new Uint8Array(await (await this.#served.client.blob(digest)).arrayBuffer());
        return;
      }
    } catch (error) {
      this.#next ??= this.#after(error);
    }
    yield* (await this.#next).blobs.get(digest);
  }

  async #one(asked: LogCall): Promise<unknown> {
    const [item] = await Array.fromAsync(this.#items(asked));
    return item;
  }

  async *#events(
    session: string,
    asked: LogCall,
    signal?: AbortSignal,
  ): AsyncGenerator<SessionEvent> {
    for await (const item of this.#items(asked, signal)) {
      const [position, stored] = row.parse(item);
      yield codec.decode(stored, { session, position });
    }
  }

  async *#global(asked: LogCall, signal?: AbortSignal): AsyncGenerator<GlobalEvent> {
    for await (const item of this.#items(asked, signal)) {
      const [position, session, [at, stored]] = globalRow.parse(item);
      yield { position, session, event: codec.decode(stored, { session, position: at }) };
    }
  }

  #ownerBlobs(): BlobStore {
    const items = (asked: LogCall): AsyncGenerator => this.#items(asked);
    return {
      get: (digest) => this.#blob(digest),
      has: async (digest) => z.boolean().parse(await this.#one({ call: "hasBlob", digest })),
      async *list() {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        for await (const item of items({ call: "blobs" })) yield item as BlobEntry;
      },
      // The owner may collect blobs in the meantime: reading one then fails with `BLOB_MISSING`.
      hold: () => ({ [Symbol.dispose]: () => {} }),
      put: () => this.#refuse(),
      collect: () => this.#refuse(),
    };
  }
}

// The items that the owner of a store answers to a call of its log.

const line = z.union([
  z.strictObject({ item: z.unknown() }),
  z.strictObject({ problem: z.unknown() }),
  z.strictObject({ end: z.literal(true) }),
]);

/**
 * The items in order. Ends when the signal aborts.
 * @throws TurnlogError the owner's refusal; `LOG_CLOSED` if the owner ended before its answer
 */
async function* calledItems(
  { client: { http }, path, gone }: ServedLog,
  asked: LogCall,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, void> {
  const given: Parameters<typeof http.open>[0] = {
    method: "POST",
    path,
    body: asked,
    signal,
  };
  try {
    const { body } = await http.open(given);
    if (body === null) throw gone();
    for await (const text of textLines(body.pipeThrough(new TextDecoderStream()))) {
      // A sign of life.
      if (text === "") continue;
      const read = line.parse(JSON.parse(text));
      if ("end" in read) return;
      if ("problem" in read) throw problemError(read.problem);
      yield read.item;
    }
  } catch (error) {
    if (signal.aborted) return;
    if (TurnlogError.isInstance(error) && error.code !== "SERVER_UNREACHABLE") throw error;
    throw gone(error);
  }
  throw gone();
}

/** Whether the process that had the store open has closed it, or has ended. */
export function isOwnerGone(error: unknown): error is TurnlogError {
  return (
    TurnlogError.isInstance(error) &&
    (error.code === "LOG_CLOSED" || error.code === "RUNTIME_CLOSED")
  );
}

export function ownerGone(pid: number, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "LOG_CLOSED",
    `Process ${pid} has closed the store in the meantime. Run the command again.`,
    { details: { pid }, cause },
  );
}
