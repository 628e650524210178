/** Why a folder tool refused or failed, in words that a model can act on. Used by the folder tools only. */
import { TurnlogError } from "../../events/index.ts";

/** What kind of refusal it is; `details.reason` of the error. */
export type FolderRefusal =
  /** The path leads out of the folder, itself or through a link. */
  | "outside"
  | "missing"
  | "not-a-file"
  | "not-a-folder"
  | "not-text"
  /** The system does not let us. */
  | "forbidden"
  /** A folder that is never written to, or a link or shared file as the target of a write. */
  | "protected"
  /** The path came to mean something else while it was being opened. */
  | "changed"
  /** An input that makes no sense: a line that the file does not have, a broken expression. */
  | "unusable"
  | "failed";

/** An `INVALID_INPUT` error about a path, with the path as it was asked for and the reason as details. */
export function folderError(
  reason: FolderRefusal,
  path: string,
  message: string,
  cause?: unknown,
): TurnlogError {
  return new TurnlogError("INVALID_INPUT", message, { details: { reason, path }, cause });
}

/** Turns an error of `node:fs` into one of ours; one of ours stays as it is. */
export function explainSystemError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || TurnlogError.isInstance(error))
    return error;
  switch (error.code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return folderError(
        "missing",
        path,
        `${path} does not exist. List the files to see what does.`,
        error,
      );
    case "EACCES":
    case "EPERM":
      return folderError(
        "forbidden",
        path,
        `${path} may not be used: permission is denied.`,
        error,
      );
    case "ELOOP":
      return folderError(
        "outside",
        path,
        `${path} is a symbolic link that is not followed.`,
        error,
      );
    case "EISDIR":
      return folderError("not-a-file", path, `${path} is a folder, not a file.`, error);
    case "EROFS":
      return folderError("forbidden", path, `${path} is on a read-only file system.`, error);
    default:
      return folderError("failed", path, `${path} could not be used: ${error.message}`, error);
  }
}
