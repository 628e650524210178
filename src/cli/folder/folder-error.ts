/** Errors of the folder tools, with messages that a model can act on. */
import { TurnlogError } from "../../events/index.ts";

/** The reason of a refusal: `details.reason` of the error. */
export type FolderRefusal =
  /** The path leads out of the folder, directly or through a link. */
  | "outside"
  | "missing"
  | "not-a-file"
  | "not-a-folder"
  | "not-text"
  /** The system denies access. */
  | "forbidden"
  /** A folder that is never written to, or a link or shared file as the target of a write. */
  | "protected"
  /** Another process changed the path while it was being opened. */
  | "changed"
  /** A wrong input: a line that the file does not have, a broken expression. */
  | "unusable"
  | "failed";

export function folderError(
  reason: FolderRefusal,
  path: string,
  message: string,
  cause?: unknown,
): TurnlogError {
  return new TurnlogError("INVALID_INPUT", message, { details: { reason, path }, cause });
}

/** Turns an error of `node:fs` into a `TurnlogError`; returns other errors unchanged. */
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
