/** Turns errors of LevelDB and the file system into errors of the port. */

import { TurnlogError, type TurnlogErrorCode } from "../../../events/index.ts";
import { closedError, damagedAt } from "../../log-rules/log-errors.ts";

const FULL = /No space left on device|Disk quota exceeded|File too large|ENOSPC|EDQUOT|EFBIG/;
const READ_ONLY =
  /Read-only file system|Permission denied|Operation not permitted|EROFS|EACCES|EPERM/;
/** LevelDB answers EINVAL for a place behind a file's end, and ENOENT for a missing file on its list. */
const DAMAGED =
  /Corruption|LEVEL_CORRUPTION|IO error: [^;]*: (?:Invalid argument|No such file or directory)/;

/** LevelDB reports the system's error only as text, at the end of a chain of causes. */
function reasons(error: unknown): string {
  const texts: string[] = [];
  for (
    let cause = error, depth = 0;
    cause instanceof Error && depth < 8;
    cause = cause.cause, depth++
  ) {
    texts.push(reason(cause));
  }
  return texts.join("; ");
}

/** The system's messages begin with their codes, LevelDB's do not. */
function reason(error: Error): string {
  const { message } = error;
  const code = "code" in error ? String(error.code) : "";
  return message.startsWith(code) ? message : `${code} ${message}`;
}

function failureCode(error: unknown): TurnlogErrorCode {
  if (TurnlogError.isInstance(error)) return error.code;
  const text = reasons(error);
  if (FULL.test(text)) return "LOG_FULL";
  if (READ_ONLY.test(text)) return "LOG_READ_ONLY";
  return DAMAGED.test(text) ? "LOG_DAMAGED" : "LOG_FAILED";
}

/** Whether LevelDB refused to open because its lock is held, in any process. */
export function isLocked(error: unknown): boolean {
  return /LEVEL_LOCKED/.test(reasons(error));
}

const WHAT_TO_DO: Partial<Record<TurnlogErrorCode, string>> = {
  LOG_FULL: "Free some space",
  LOG_READ_ONLY: "Make the folder writable",
};

/** After a failed write LevelDB's log file is in an unknown state, so nothing more is written. */
export function writeFailure(error: unknown): TurnlogError {
  // Found before the write: it says itself what to do.
  if (TurnlogError.isInstance(error)) return error;
  const code = failureCode(error);
  return new TurnlogError(
    code,
    `The log could not be written (${reasons(error)}). ${WHAT_TO_DO[code] ?? "Look at the disk"}, then close this store and open it again: nothing more is accepted until then. All acknowledged events are kept; whether these events were kept can be seen after reopening.`,
    { cause: error },
  );
}

/** A session is deleted, but its bytes may still be in the files. */
export function erasureFailure(session: string, error: unknown): TurnlogError {
  const code = failureCode(error);
  return new TurnlogError(
    code,
    `The deleted content of session ${session} can no longer be read, but its bytes are still in the files (${reasons(error)}). ${WHAT_TO_DO[code] ?? "Look at the disk"}, then open the store again to remove them.`,
    { session, cause: error },
  );
}

/** A failed read: damage if LevelDB reports it, else the system's failure. */
export function readFailure(error: unknown, session: string, position: number): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  if (/LEVEL_(DATABASE|ITERATOR)_NOT_OPEN/.test(reasons(error))) return closedError();
  const code = failureCode(error);
  if (code === "LOG_DAMAGED") return damagedAt(session, position, reasons(error), error);
  return new TurnlogError(
    code,
    `Reading ${session}:${position} failed (${reasons(error)}). Try again; if the error remains, look at the disk.`,
    {
      session,
      position,
      cause: error,
    },
  );
}

export function storeFailure(
  error: unknown,
  dir: string,
  doing: "opened" | "closed" | "repaired" | "backed up" = "opened",
): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  const code = failureCode(error);
  const advice =
    code === "LOG_DAMAGED"
      ? "Copy it, then run `turnlog repair`"
      : `${WHAT_TO_DO[code] ?? "Look at the disk"}, then try again`;
  return new TurnlogError(
    code,
    `The store in ${dir} could not be ${doing} (${reasons(error)}). ${advice}.`,
    { cause: error },
  );
}

export function commitDamage(globalPosition: number, why: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The log is damaged: ${why}. Stop writing to this store, copy it, and run \`turnlog repair\`.`,
    { details: { globalPosition } },
  );
}

export function readOnlyError(dir: string | undefined): TurnlogError {
  return new TurnlogError(
    "LOG_READ_ONLY",
    `The store in ${dir} is open for reading only. Open it without \`readOnly\` to write.`,
    { details: { dir } },
  );
}
