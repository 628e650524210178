/** Turns errors of SQLite and of the file system into errors of the port, and says what happened to a file. */

import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";

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
export function failureOf(error: unknown, file: string, doing: string): TurnlogError {
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

export function foreign(file: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "LOG_FOREIGN",
    `The file ${file} is not a log of turnlog, and was left as it is. Give the path of one, or of a file that does not exist.`,
    { cause },
  );
}

export function goneFrom(file: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The file ${file} is gone or empty, though its journal ${file}-wal is there. Nothing was changed. Put back both files as they were; to begin a new log, move the journal away.`,
  );
}

export function hasMoved(file: string): TurnlogError {
  return new TurnlogError(
    "LOG_FAILED",
    `The file ${file} has been removed or replaced while the log was open. Nothing more is written, and events that were acknowledged since then are not in it. Put back the file or a backup, then open the log again.`,
  );
}
