/** How an error reaches the person at the terminal: what happened in one or two lines, and an exit code. */

import { inspect } from "node:util";
import { writeLine, type Channel } from "./output.ts";
import { visibleText } from "./visible-text.ts";

/** 0 done, 1 an error, 2 used wrongly, 130 interrupted by Ctrl-C, 143 ended by SIGTERM or SIGHUP. */
export type ExitCode = 0 | 1 | 2 | 130 | 143;

export const DONE: ExitCode = 0;
export const FAILED: ExitCode = 1;
export const USED_WRONGLY: ExitCode = 2;
export const INTERRUPTED: ExitCode = 130;
export const TERMINATED: ExitCode = 143;

/** Ends the process with exit code 2 and its message. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** @param debug - Whether the stack and the causes are told too. */
export async function reportError(
  progress: Channel,
  error: unknown,
  debug: boolean,
): Promise<ExitCode> {
  if (isSuppressed(error)) {
    // Something failed, and then closing the store did: both are news, in their order.
    await reportError(progress, error.suppressed, debug);
    return await reportError(progress, error.error, debug);
  }
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const label = progress.style("red", "error:");
  const suffix = code === undefined ? "" : ` ${progress.style("dim", `[${code}]`)}`;
  await writeLine(progress, `${label} ${indentedMore(message)}${suffix}`);
  if (debug) {
    await writeLine(progress, visibleText(inspect(error, { depth: 4 })));
  } else if (code === undefined && !(error instanceof UsageError)) {
    await writeLine(progress, "This should not have happened; --debug tells where it did.");
  }
  return error instanceof UsageError ? USED_WRONGLY : FAILED;
}

/** Further lines are seen to be of the message, and not of another one. */
function indentedMore(message: string): string {
  return visibleText(message).replaceAll("\n", "\n  ");
}

interface Suppressed {
  readonly error: unknown;
  readonly suppressed: unknown;
}

/** By its name: not every Node that runs us has the class. */
function isSuppressed(error: unknown): error is Suppressed {
  return error instanceof Error && error.name === "SuppressedError" && "suppressed" in error;
}

/** The stable code of a `TurnlogError`, or the system's of a failed call. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
