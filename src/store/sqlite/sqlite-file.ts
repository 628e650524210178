/** The file of a log on SQLite: who may open it, what it must be, and what its errors mean. */

import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import { tables } from "./statements.ts";

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

/** Opens a file, by its whole path, that this process alone uses from then on. @throws TurnlogError as `openSqliteLog` */
export function openFile(file: string, durability: Durability): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    // SQLite would begin a new log, and remove the journal.
    if (sizeOf(file) === 0 && sizeOf(`${file}-wal`) > 0) throw gone(file);
    // To open and close a file that is there would drop this process's locks on it.
    if (!existsSync(file)) createPrivate(file);
    database = new sqlite.DatabaseSync(file);
    // Exclusive: no other process can open the file, until this one has closed it.
    database.exec(`
      PRAGMA busy_timeout = ${PATIENCE};
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA synchronous = ${durability === "sync" ? "FULL" : "NORMAL"};
      BEGIN EXCLUSIVE`);
    if (isNew(database, file))
      database.exec(
        `${tables} PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${FORMAT}`,
      );
    database.exec("COMMIT; PRAGMA journal_mode = WAL");
    return database;
  } catch (error) {
    database?.close();
    throw failureOf(error, file, "opened");
  }
}

/** Sessions are for their owner alone. SQLite gives its journal the same mode. Throws if the file exists. */
export function createPrivate(file: string): void {
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

/** Returns what throws once the file is no longer in its place: SQLite would go on writing to it. */
export function inPlace(file: string): () => void {
  const inode = (): bigint | undefined =>
    statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
  const opened = inode();
  return () => {
    if (inode() === opened) return;
    throw new TurnlogError(
      "LOG_FAILED",
      `The file ${file} has been removed or replaced while the log was open. Nothing more is written, and events that were acknowledged since then are not in it. Put back the file or a backup, then open the log again.`,
    );
  };
}

const headSchema = z.object({ application: z.number(), format: z.number(), tables: z.number() });

function isNew(database: DatabaseSync, file: string): boolean {
  const { application, format, tables } = headSchema.parse(
    database
      .prepare(
        `SELECT application_id AS application, user_version AS format, (SELECT count(*) FROM sqlite_schema) AS tables
         FROM pragma_application_id, pragma_user_version`,
      )
      .get(),
  );
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
export function failureOf(
  error: unknown,
  file: string,
  doing: "opened" | "read" | "written" | "made" | "closed" | "rid of deleted bytes",
): TurnlogError {
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
