/** The engine on rows by key: its parts, each made with the others that it uses, and its opening on a plain store. */

import { z } from "zod";
import {
  createCodec,
  oneProcess,
  type BlobStore,
  type CursorStore,
  type Snapshot,
} from "../../events/index.ts";
import { plainEvents } from "../../shared/index.ts";
import { Following, type Engine } from "../engine/index.ts";
import { queuedEvents } from "../event-rows/index.ts";
import { closedError, deletedError } from "../log-rules/log-errors.ts";
import { Heads, IndexRows } from "./heads/heads.ts";
import { Lineage } from "./heads/lineage.ts";
import { readGlobal } from "./read/global-reader.ts";
import { Reading } from "./read/reading.ts";
import { ScannedStore, Erasure, type Eraser, eraseLeft } from "./upkeep/erasure.ts";
import { SnapshotReader, snapshotRow } from "./read/snapshots.ts";
import { checkedRow, withChecksum, type ChainMark, chainStart } from "./rows/commit-record.ts";
import { rowAt, type RowStore } from "./rows/row-store.ts";
import { commitDamage, readOnlyError } from "./rows/failures.ts";
import { cursorKey } from "./rows/keys.ts";
import { listSessions } from "./rows/session-rows.ts";
import { Deletion } from "./upkeep/deletion.ts";
import { Appender } from "./write/appender.ts";
import { Committer } from "./write/committer.ts";
import { checkChain } from "./read/chain-check.ts";
import { catchUpIndex } from "./upkeep/opening.ts";

export interface RowEngineOptions {
  readonly dir?: string;
  /** Refuse every change. Default: false. */
  readonly readOnly?: boolean;
  readonly blobs?: BlobStore;
  readonly sync: boolean;
  readonly end: ChainMark;
  readonly checked: ChainMark;
  /** Removes deleted rows from the files. Left out where they leave nothing behind. */
  readonly eraser?: Eraser | undefined;
  /** Whether others may follow a failed write, since it leaves the store as it was. Default: false. */
  readonly undoes?: boolean | undefined;
  /** Throws when another process owns the store, or its folder is gone. Left out where that cannot happen. */
  readonly assertOwned?: () => void;
  /** Called with the end of the log after each synced write, before its appends resolve. */
  readonly onSynced?: (position: number) => void;
  /** Called once after the last write: records the end of the chain and closes the database. */
  readonly release: (committer: Committer) => Promise<void>;
}

/** An engine, and what a backup needs of it. */
export interface RowEngine {
  readonly engine: Engine;
  readonly scans: ScannedStore;
  readonly committer: Committer;
}

export function engineOnRows(given: RowStore, options: RowEngineOptions): RowEngine {
  const { dir, readOnly = false, blobs, eraser, release } = options;
  const [codec, index, database] = [createCodec(), new IndexRows(), new ScannedStore(given)];
  let isClosing = false;

  const followers: Following = new Following(
    { head, read, readAll, end: () => committer.written.position },
    {
      decode: (session, row) => queuedEvents(codec, session, row),
      attach: (session, tail) => heads.attach(session, tail),
    },
  );
  const heads = new Heads(database, followers.tails, index);
  const lineage = new Lineage(database, heads);
  const source = { database, codec, lineage };
  const reading = new Reading({ source, heads });
  const committer = new Committer(database, {
    ...options,
    assertOwned: options.assertOwned ?? (() => {}),
    index,
    onWritten: () => followers.notify(),
    onFailed: () => {
      heads.lose();
      followers.forget();
    },
  });
  const appender = new Appender({ database, codec, heads, lineage, committer });
  const erasure = new Erasure({ database, committer, eraser });
  const deletion = new Deletion({ source, heads, committer, appender, erasure });

  const engine: Engine & { readonly [plainEvents]: true } = {
    [plainEvents]: true,
    blobs,
    ownership: oneProcess,
    refused: readOnly ? () => readOnlyError(dir) : undefined,
    followers,
    cursors: storedCursors(database, committer),
    snapshots: snapshots(),
    append: (session, expected, events, given) => appender.append(session, expected, events, given),
    appendParts: (session, parts, given) => appender.appendParts(session, parts, given),
    fork: (session, link, events) => appender.fork(session, link, events),
    delete: (session, given) => deletion.delete(session, given),
    head,
    read,
    readAt: (session, positions) => reading.readAt(session, positions),
    readAll,
    end: () => committer.written.position,
    list: (prefix) => listSessions(database, prefix, index.all),
    deleted: () => deletion.deleted(),
    async close() {
      isClosing = true;
      await appender.settled();
      await committer.idle();
      await erasure.close();
      await followers.end();
      await release(committer);
    },
  };
  return { engine, scans: database, committer };

  async function head(session: string) {
    const { committed, isDeleted } = await heads.load(session);
    return { revision: committed, isDeleted };
  }

  function read(...given: Parameters<Engine["read"]>) {
    return reading.read(...given);
  }

  function readAll(from: number, to: number) {
    return readGlobal(database, codec, from, to);
  }

  function snapshots(): NonNullable<Engine["snapshots"]> {
    const reader = new SnapshotReader(database);
    let saving: Promise<unknown> = Promise.resolve();
    const saveOfAll = async (snapshot: Snapshot): Promise<void> => {
      const stored = await reader.read("", snapshot.projection);
      if (stored !== undefined && stored.position > snapshot.position) return;
      const { key, row } = snapshotRow("", snapshot);
      await committer.write((rows) => rows.put(key, row));
    };
    return {
      save: async (session, snapshot) => {
        if (session === "") {
          // One after another: each looks at what the one before has written.
          const saved = saving.then(() => saveOfAll(snapshot));
          saving = saved.catch(() => {});
          return await saved;
        }
        const { key, row } = snapshotRow(session, snapshot);
        let own = heads.unlocked(session);
        for (; own === undefined; own = heads.unlocked(session)) {
          await heads.whenUnlocked(session);
          if (isClosing) throw closedError();
        }
        if (own.isDeleted) throw deletedError(session);
        await committer.write((rows) => rows.put(key, row));
      },
      load: async (session, projection) => {
        if (session === "") return await reader.read("", projection);
        const { committed, link } = await heads.load(session);
        for await (const { owner, to } of lineage.of(session, link, committed)) {
          const snapshot = await reader.read(owner, projection, to);
          if (snapshot !== undefined) return snapshot;
        }
        return undefined;
      },
      loadMany: async (sessions, projection) =>
        await Promise.all(sessions.map((session) => reader.read(session, projection))),
    };
  }
}

/** After a repair 0: the consumer begins again. */
const cursorSchema = z.int().nonnegative();

/** The stored positions of consumers, each in a row of its own. Not a cache: a damaged one is an error. */
function storedCursors(database: RowStore, committer: Committer): CursorStore {
  return {
    async load(name) {
      const key = cursorKey(name);
      const row = await rowAt(database, key);
      if (row === undefined) return undefined;
      const position = checkedRow(key, row, cursorSchema);
      if (position !== undefined) return position;
      throw commitDamage(0, `the stored position of the consumer ${name} is altered`);
    },

    async save(name, position) {
      const key = cursorKey(name);
      await committer.write((rows) => rows.put(key, withChecksum(key, position)));
    },
  };
}

// Opening the engine on a store of rows that needs no more than the port. LevelDB's files are checked by more than this.

/**
 * The engine on a store of rows that nothing else writes to. It closes the store.
 * @throws TurnlogError `LOG_DAMAGED`, and what the store throws
 */
export async function rowEngine(store: RowStore): Promise<Engine> {
  const { undoes } = store;
  const eraser = store.erase?.bind(store);
  const chain = await checkChain(store, chainStart);
  await catchUpIndex(store, chain.since);
  if (eraser !== undefined) await eraseLeft(store, eraser);
  const release = async (committer: Committer): Promise<void> => {
    try {
      const { failure, written } = committer;
      if (failure !== undefined || written.position === chain.checked.position) return;
      // The next opening then checks nothing but the end.
      const last = store.batch();
      committer.settle(last);
      await last.write({ sync: true });
    } finally {
      await store.close();
    }
  };
  return engineOnRows(store, { sync: true, undoes, eraser, ...chain, release }).engine;
}
