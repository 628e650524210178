/**
 * A file of SQLite that this process alone has open: its statements, how changes share a transaction, and what its
 * errors mean. It knows nothing of sessions.
 */

import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";

const sqlite = process.getBuiltinModule("node:sqlite");
if (sqlite === undefined)
  throw new TurnlogError(
    "NODE_TOO_OLD",
    `turnlog/sqlite needs Node.js 22.13 or newer, which has node:sqlite; this is ${process.versions.node}. Install a newer Node, or use \`openLog\` of turnlog.`,
  );

/** Marks the file as ours: "turn" in ASCII. */
const APPLICATION = 0x7475726e;
/** The version of the tables. */
const FORMAT = 1;
/** Milliseconds: the former process may be closing the file. Nothing else runs in this one meanwhile. */
const PATIENCE = 500;

export type Durability = "sync" | "os";

/** Answers a caller, once the transaction has ended. */
type Answer = () => void;

interface Change {
  readonly run: () => Answer;
  readonly refuse: (error: unknown) => Answer;
}

export class SqliteFile {
  readonly path: string;
  readonly database: DatabaseSync;
  /** Called when a transaction is undone. */
  onUndone: () => void = () => {};
  readonly #inode: bigint | undefined;
  readonly #statements = new Map<TemplateStringsArray, StatementSync>();
  #waiting: Change[] = [];

  /** `path`: a whole one. `tables`: the SQL for a new file. @throws TurnlogError as `openSqliteLog` */
  constructor(path: string, durability: Durability, tables: string) {
    this.path = path;
    let database: DatabaseSync | undefined;
    try {
      // SQLite would begin a new log, and remove the journal.
      if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0) throw gone(path);
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
        database.exec(
          `${tables} PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${FORMAT}`,
        );
      database.exec("COMMIT; PRAGMA journal_mode = WAL");
    } catch (error) {
      database?.close();
      throw failureOf(error, path, "opened");
    }
    this.database = database;
    this.#inode = inodeOf(path);
  }

  /** Answers rows. They are checked like any input: another program may have written to the file. */
  readonly all =
    <Row>(schema: z.ZodType<Row>) =>
    (sql: TemplateStringsArray, ...values: SQLInputValue[]): readonly Row[] =>
      this.#statement(sql)
        .all(...values)
        .map((row) => schema.parse(row));

  readonly run = (sql: TemplateStringsArray, ...values: SQLInputValue[]): void => {
    this.#statement(sql).run(...values);
  };

  /** Runs statements that change nothing. */
  readonly read = <Result>(ask: () => Result): Result => {
    // Reading may go on while the log is closed.
    if (!this.database.isOpen)
      throw new TurnlogError(
        "LOG_CLOSED",
        "The log was closed while it was read. Open it again to continue.",
      );
    return this.#try("read", ask);
  };

  /**
   * Runs a change in one transaction with all that are asked for in this turn of the event loop, and resolves when it
   * is as durable as the file promises. One that throws a TurnlogError must have written nothing: it does not disturb
   * the others, since a savepoint around each would double the time that SQLite takes.
   * @param refused - Sees an error before the next change runs, and returns the one to throw.
   */
  readonly change = <Result>(
    change: () => Result,
    refused: (error: unknown) => unknown = (error) => error,
  ): Promise<Result> => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const run = (): Answer => {
      const result = change();
      return () => resolve(result);
    };
    const refuse = (error: unknown): Answer => {
      const refusal = refused(error);
      return () => reject(refusal);
    };
    if (this.#waiting.push({ run, refuse }) === 1)
      setImmediate(() => {
        const changes = this.#waiting;
        this.#waiting = [];
        for (const answer of this.#commit(changes)) answer();
      });
    return promise;
  };

  #commit(changes: readonly Change[]): readonly Answer[] {
    try {
      this.#assertInPlace();
      this.run`BEGIN IMMEDIATE`;
      const answers = changes.map(({ run, refuse }) => {
        try {
          return run();
        } catch (error) {
          if (!TurnlogError.isInstance(error)) throw error;
          return refuse(error);
        }
      });
      this.run`COMMIT`;
      return answers;
    } catch (error) {
      try {
        this.run`ROLLBACK`;
      } catch {
        // After some errors SQLite has undone the transaction itself.
      }
      this.onUndone();
      const failure = failureOf(error, this.path, "written");
      // One of them may be the cause: its input, or a damaged session. A full disk concerns them all.
      if (changes.length > 1 && failure.code !== "LOG_FULL")
        return changes.flatMap((change) => this.#commit([change]));
      return changes.map(({ refuse }) => refuse(failure));
    }
  }

  /** Once the file is no longer in its place, SQLite would go on writing to it. */
  #assertInPlace(): void {
    if (inodeOf(this.path) === this.#inode) return;
    throw new TurnlogError(
      "LOG_FAILED",
      `The file ${this.path} has been removed or replaced while the log was open. Nothing more is written, and events that were acknowledged since then are not in it. Put back the file or a backup, then open the log again.`,
    );
  }

  /**
   * Removes deleted bytes, for which SQLite has to write the file anew: with `secure_delete` copies stay where it once
   * moved a row from one page to another.
   */
  rewrite(): void {
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
        this.run`VACUUM INTO ${copy}`;
      } catch (error) {
        // An empty or half a file would be taken for a log.
        rmSync(copy, { force: true });
        throw error;
      }
    };
    this.#try("made", write, copy);
  }

  close(): void {
    this.#try("closed", () => this.database.close());
  }

  #try<Result>(doing: string, act: () => Result, file: string = this.path): Result {
    try {
      return act();
    } catch (error) {
      throw failureOf(error, file, doing);
    }
  }

  /** Each text of the program is compiled once. */
  #statement(sql: TemplateStringsArray): StatementSync {
    const known = this.#statements.get(sql) ?? this.database.prepare(sql.join("?"));
    this.#statements.set(sql, known);
    return known;
  }
}

/** Sessions are for their owner alone. SQLite gives its journal the same mode. Throws if the file exists. */
function createPrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, "wx", 0o600));
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function gone(file: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The file ${file} is gone or empty, though its journal ${file}-wal is there. Nothing was changed. Put back both files as they were; to begin a new log, move the journal away.`,
  );
}

function inodeOf(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
}

const headSchema = z.object({ application: z.number(), format: z.number(), tables: z.number() });

function isNew(database: DatabaseSync, file: string): boolean {
  const head = database.prepare(`
    SELECT application_id AS application, user_version AS format, (SELECT count(*) FROM sqlite_schema) AS tables
    FROM pragma_application_id, pragma_user_version`);
  const { application, format, tables } = headSchema.parse(head.get());
  if (application === 0 && tables === 0) return true;
  if (application !== APPLICATION) throw foreign(file);
  if (format <= FORMAT) return false;
  throw new TurnlogError(
    "LOG_TOO_NEW",
    `The file ${file} has the format ${format}; this release of turnlog reads up to ${FORMAT}. Open it with the release that wrote it, or a later one.`,
    { details: { format } },
  );
}

function foreign(file: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "LOG_FOREIGN",
    `The file ${file} is not a log of turnlog, and was left as it is. Give the path of one, or of a file that does not exist.`,
    { cause },
  );
}

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
  // The statements are fixed: a table is missing or another one.
  1: DAMAGED,
  11: DAMAGED,
  // A row is there that the session's entry does not count.
  19: DAMAGED,
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
