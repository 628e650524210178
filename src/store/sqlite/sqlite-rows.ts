/**
 * Rows by key in a file of SQLite that this process alone has open: the store of rows that `rowEngine` makes a log of,
 * and an example of one. It knows nothing of sessions.
 */

import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import type { RowStore, Scan, WriteBatch } from "../row-engine/index.ts";

const sqlite = process.getBuiltinModule("node:sqlite");
if (sqlite === undefined)
  throw new TurnlogError(
    "NODE_TOO_OLD",
    `turnlog/sqlite needs Node.js 22.13 or newer, which has node:sqlite; this is ${process.versions.node}. Install a newer Node, or use \`openLog\` of turnlog.`,
  );

/** Marks the file as ours: "turn" in ASCII. */
const APPLICATION = 0x7475726e;
/** The version of the table. Version 1 had a table for each kind of row, and belongs to no release. */
const FORMAT = 2;
/** Milliseconds: the former process may be closing the file. Nothing else runs in this one meanwhile. */
const PATIENCE = 500;
/** Rows of a scan's first page; after one of few or many characters the next page has more or fewer. */
const FIRST_PAGE = 64;
const LARGEST_PAGE = 256;
const PAGE = 256 * 1024;

export type Durability = "sync" | "os";

const rowSchema = z.object({ key: z.string(), row: z.string() });
type Row = z.infer<typeof rowSchema>;
type Range = Parameters<RowStore["iterator"]>[0];

export class SqliteRows implements RowStore {
  readonly findsAll = true;
  readonly undoes = true;
  readonly database: DatabaseSync;
  readonly #path: string;
  readonly #inode: bigint | undefined;
  readonly #one: StatementSync;
  readonly #upward: StatementSync;
  readonly #downward: StatementSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #isOpen = true;

  /** `path`: a whole one. @throws TurnlogError as `openSqliteLog` */
  constructor(path: string, durability: Durability) {
    let database: DatabaseSync | undefined;
    try {
      // SQLite would begin a new log, and remove the journal.
      if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0) throw goneFrom(path);
      // To open and close a file that is there would drop this process's locks on it.
      if (!existsSync(path)) createPrivate(path);
      database = new sqlite.DatabaseSync(path);
      // Exclusive: no other process can open the file, until this one has closed it.
      database.exec(`
        PRAGMA busy_timeout = ${PATIENCE};
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA synchronous = ${durability === "sync" ? "FULL" : "NORMAL"};
        BEGIN EXCLUSIVE`);
      if (isNew(database, path))
        database.exec(`
          CREATE TABLE rows (key TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT, WITHOUT ROWID;
          PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${FORMAT}`);
      database.exec("COMMIT; PRAGMA journal_mode = WAL");
      const range = "SELECT key, row FROM rows WHERE key >= ? AND key < ? ORDER BY key";
      this.#one = database.prepare("SELECT key, row FROM rows WHERE key = ?");
      this.#upward = database.prepare(`${range} LIMIT ?`);
      this.#downward = database.prepare(`${range} DESC LIMIT ?`);
      this.#put = database.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?)");
      this.#begin = database.prepare("BEGIN IMMEDIATE");
      this.#commit = database.prepare("COMMIT");
      this.#delete = database.prepare("DELETE FROM rows WHERE key = ?");
    } catch (error) {
      database?.close();
      throw failureOf(error, path, "opened");
    }
    this.#path = path;
    this.#inode = inodeOf(path);
    this.database = database;
  }

  async getMany(keys: readonly string[]): Promise<(string | undefined)[]> {
    return keys.map((key) => this.#all(this.#one, key)[0]?.row);
  }

  /** Each page is a statement of its own, so that no scan holds the file. */
  iterator({ gte = "", gt, lt = "~", lte, reverse = false, limit = Infinity }: Range): Scan {
    const statement = reverse ? this.#downward : this.#upward;
    let [from, below] = [gt === undefined ? gte : behind(gt), lte === undefined ? lt : behind(lte)];
    let [left, most] = [limit, FIRST_PAGE];
    return {
      nextv: async (size) => {
        if (left === 0) return [];
        // Others have their turn between two pages.
        if (left < limit) await nextTurn();
        const asked = Math.min(size, left, most);
        const rows = this.#all(statement, from, below, asked);
        const last = rows.at(-1)?.key;
        if (last !== undefined && reverse) below = last;
        else if (last !== undefined) from = behind(last);
        left = rows.length < asked ? 0 : left - rows.length;
        const characters = rows.reduce((sum, { row }) => sum + row.length, 0);
        most = characters > PAGE ? Math.ceil(most / 2) : Math.min(2 * most, LARGEST_PAGE);
        return rows.map(({ key, row }) => [key, row]);
      },
      close: async () => {},
    };
  }

  batch(): WriteBatch {
    const changes: (readonly [key: string, row?: string])[] = [];
    return {
      put: (key, row) => changes.push([key, row]),
      del: (key) => changes.push([key]),
      write: async () => {
        // What is asked for in this turn of the event loop becomes one transaction.
        await nextTurn();
        this.#try("written", () => this.#write(changes));
      },
      close: async () => {},
    };
  }

  #write(changes: readonly (readonly [key: string, row?: string])[]): void {
    // SQLite would keep writing to a file that is no longer in its place.
    if (inodeOf(this.#path) !== this.#inode) throw hasMoved(this.#path);
    this.#begin.run();
    try {
      for (const [key, row] of changes)
        if (row === undefined) this.#delete.run(key);
        else this.#put.run(key, row);
      this.#commit.run();
    } catch (error) {
      try {
        this.database.exec("ROLLBACK");
      } catch {
        // After some errors SQLite has undone the transaction itself.
      }
      throw error;
    }
  }

  /** SQLite has to write the file anew: with `secure_delete` copies stay where it once moved a row to another page. */
  async erase(spans: readonly object[]): Promise<void> {
    if (spans.length === 0) return;
    this.#try("rid of deleted bytes", () =>
      this.database.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"),
    );
  }

  /** Copies everything into a new file. */
  copyTo(copy: string): void {
    if (existsSync(copy))
      throw new TurnlogError(
        "INVALID_INPUT",
        `There is a file ${copy} already, and a backup replaces none. Give the path of a new one.`,
      );
    const write = (): void => {
      createPrivate(copy);
      try {
        this.database.prepare("VACUUM INTO ?").run(copy);
      } catch (error) {
        // An empty or half a file would be taken for a log.
        rmSync(copy, { force: true });
        throw error;
      }
    };
    this.#try("made", write, copy);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#try("closed", () => this.database.close());
  }

  /** Rows are checked like any input: another program may have written to the file. */
  #all(statement: StatementSync, ...given: readonly SQLInputValue[]): readonly Row[] {
    // Reading may continue while the log is closed.
    if (this.#isOpen)
      return this.#try("read", () => statement.all(...given).map((row) => rowSchema.parse(row)));
    throw new TurnlogError(
      "LOG_CLOSED",
      "The log was closed while it was read. Open it again to continue.",
    );
  }

  #try<Result>(doing: string, act: () => Result, file: string = this.#path): Result {
    try {
      return act();
    } catch (error) {
      throw failureOf(error, file, doing);
    }
  }
}

/** The first key behind another one. */
function behind(key: string): string {
  return `${key}\0`;
}

/** Sessions are for their owner alone. SQLite gives its journal the same mode. Throws if the file exists. */
function createPrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, "wx", 0o600));
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function inodeOf(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
}

const headSchema = z.object({ application: z.number(), format: z.number(), tables: z.number() });

/** Whether the file is empty. @throws TurnlogError for one that is not a log, or of another format */
function isNew(database: DatabaseSync, file: string): boolean {
  const head = database.prepare(`
    SELECT application_id AS application, user_version AS format, (SELECT count(*) FROM sqlite_schema) AS tables
    FROM pragma_application_id, pragma_user_version`);
  const { application, format, tables } = headSchema.parse(head.get());
  if (application === 0 && tables === 0) return true;
  if (application !== APPLICATION) throw foreign(file);
  if (format === FORMAT) return false;
  const next =
    format < FORMAT
      ? "No release has written that one: export its sessions with the build that did, and import them into a new file"
      : "Open it with the release that wrote it, or a later one";
  throw new TurnlogError(
    format < FORMAT ? "LOG_FOREIGN" : "LOG_TOO_NEW",
    `The file ${file} has the format ${format}; this release of turnlog reads ${FORMAT}. ${next}.`,
    { details: { format } },
  );
}

// Errors of SQLite and of the file system become errors of the port, which say what happened to the file.

type Meaning = readonly [code: TurnlogError["code"], next: string];

const DAMAGED: Meaning = [
  "LOG_DAMAGED",
  "Stop writing to it, copy it, and continue with a copy from before",
];

/** By SQLite's primary result codes: https://www.sqlite.org/rescode.html */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  5: [
    "LOG_LOCKED",
    "Another process has it open, and one at a time may. Close it there, then open it again",
  ],
  8: ["LOG_READ_ONLY", "Make it writable, then open it again"],
  // The statements are fixed: the table is missing or another one.
  1: DAMAGED,
  11: DAMAGED,
  13: ["LOG_FULL", "Free some space, then append again"],
};

/** An error of the port for one of SQLite or of the file system. Others stay as they are. */
function failureOf(error: unknown, file: string, doing: string): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  const number = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
  if (number === 26) return foreign(file, error);
  // A row that no release writes.
  const [code, next] = MEANINGS[error instanceof z.ZodError ? 1 : number] ?? [
    "LOG_FAILED",
    "Look at the disk, then try again",
  ];
  const kept =
    doing === "written" ? " Nothing of these changes was kept; all acknowledged events are." : "";
  return new TurnlogError(
    code,
    `The log in ${file} could not be ${doing} (${error instanceof Error ? error.message : String(error)}).${kept} ${next}.`,
    { cause: error },
  );
}

function foreign(file: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "LOG_FOREIGN",
    `The file ${file} is not a log of turnlog, and was left as it is. Give the path of one, or of a file that does not exist.`,
    { cause },
  );
}

function goneFrom(file: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The file ${file} is gone or empty, though its journal ${file}-wal is there. Nothing was changed. Put back both files as they were; to begin a new log, move the journal away.`,
  );
}

function hasMoved(file: string): TurnlogError {
  return new TurnlogError(
    "LOG_FAILED",
    `The file ${file} has been removed or replaced while the log was open. Nothing more is written, and events that were acknowledged since then are not in it. Put back the file or a backup, then open the log again.`,
  );
}
