/** Opens the log in a file of SQLite. */

import { resolve } from "node:path";
import type { EventLog } from "../../events/index.ts";
import { check, name, oneOf, optionsOf } from "../../validation/index.ts";
import { CheckedLog, type Engine } from "../engine/index.ts";
import { rowEngine } from "../row-engine/index.ts";
import { SqliteRows, type Durability } from "./sqlite-rows.ts";

/**
 * Options of {@link openSqliteLog}.
 * @example
 * const log = await openSqliteLog({ file: "data/sessions.db", durability: "os" });
 */
export interface SqliteLogOptions {
  /**
   * It is created if it does not exist. While it is open, and after a kill until it is opened again, its newest
   * content is in a second file, `<file>-wal`: without that one, it opens without these events.
   */
  readonly file: string;
  /** What a resolved append survives: `sync`, the default, a power cut too; `os` the end of the process. */
  readonly durability?: Durability;
}

const optionsSchema = optionsOf<SqliteLogOptions>(
  { durability: oneOf("sync", "os") },
  { file: name },
);

type SqliteLog = EventLog & {
  /** Copies the log into a new file, which is a log too. Nothing else runs in the process meanwhile: a second for some 100 MB. @throws TurnlogError `LOG_FAILED`, `LOG_FULL`, `LOG_CLOSED` */
  backup(file: string): Promise<void>;
};

/**
 * Opens the log in a file of SQLite, which one process at a time may have open. Once it is closed, the file may be
 * copied. A deletion writes the whole file anew, so that no byte of the session stays. Large content stays in the
 * events, unless the runtime gets `blobs: folderBlobs(…)`.
 * @example
 * const log = await openSqliteLog({ file: "data/sessions.db" });
 * await using runtime = await createRuntime({ log, agent });
 * @throws TurnlogError `INVALID_INPUT`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_TOO_NEW`, `LOG_DAMAGED`, `LOG_READ_ONLY`,
 * `LOG_FULL`, `LOG_FAILED`
 */
export async function openSqliteLog(options: SqliteLogOptions): Promise<SqliteLog> {
  check(optionsSchema, options, "openSqliteLog", { name: "options" });
  const { durability = "sync" } = options;
  // SQLite takes `:memory:` and `file:…` for something else than a file of that name.
  const rows = new SqliteRows(resolve(options.file), durability);
  try {
    return new FileLog(rows, await rowEngine(rows));
  } catch (error) {
    await rows.close();
    throw error;
  }
}

class FileLog extends CheckedLog implements SqliteLog {
  readonly #rows: SqliteRows;

  constructor(rows: SqliteRows, engine: Engine) {
    super(engine);
    this.#rows = rows;
  }

  async backup(file: string): Promise<void> {
    this.assertOpen();
    check(name, file, "backup", { name: "file" });
    this.#rows.copyTo(resolve(file));
  }
}
