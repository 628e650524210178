/** Reports an error on the terminal in one or two lines, and maps it to an exit code. */

import { inspect } from "node:util";
import { writeLine, writeSentence, type Channel } from "./output.ts";
import { visibleText } from "./visible-text.ts";

/** 0 done, 1 error, 2 wrong usage, 130 interrupted by Ctrl-C, 143 ended by SIGTERM or SIGHUP. */
export type ExitCode = 0 | 1 | 2 | 130 | 143;

export const DONE: ExitCode = 0;
export const FAILED: ExitCode = 1;
export const USED_WRONGLY: ExitCode = 2;
export const INTERRUPTED: ExitCode = 130;
export const TERMINATED: ExitCode = 143;

/** Wrong usage that shows before the store is opened: the process ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function unreadable(file: string, cause: unknown): UsageError {
  return new UsageError(`${file} cannot be read: ${String(cause)}`, { cause });
}

/**
 * Refuses options where they would have no effect.
 * @param given - Each option, and whether it is given.
 * @param why - What follows the names, from the space or the colon on.
 * @throws UsageError that names those that are given
 */
export function refuseIdle(given: Readonly<Record<string, boolean>>, why: string): void {
  const idle = Object.keys(given).filter((name) => given[name]);
  if (idle.length > 0) throw new UsageError(`${idle.join(" and ")}${why}`);
}

/** Reports errors of background work. A reader that has gone is told nothing more. */
export function reporter(progress: Channel, debug: boolean): (error: unknown) => void {
  return (cause) => {
    reportError(progress, cause, debug).catch(() => {});
  };
}

/** @param debug - Whether to print the stack and the causes too. */
export async function reportError(
  progress: Channel,
  error: unknown,
  debug: boolean,
): Promise<ExitCode> {
  if (isSuppressed(error)) {
    // The command failed, and then closing the store failed too: report both, in order.
    await reportError(progress, error.suppressed, debug);
    return await reportError(progress, error.error, debug);
  }
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const label = progress.style("red", "error:");
  const suffix = code === undefined ? "" : ` ${progress.style("dim", `[${code}]`)}`;
  await writeSentence(progress, `${label} ${withIndent(message)}${suffix}`);
  if (debug) {
    await writeLine(progress, visibleText(inspect(error, { depth: 4 })));
  } else if (code === undefined && !(error instanceof UsageError)) {
    await writeLine(progress, "This error is unexpected; --debug prints its stack.");
  }
  return error instanceof UsageError ? USED_WRONGLY : FAILED;
}

/** Indents all lines but the first, so that they visibly belong to the message. */
function withIndent(message: string): string {
  return visibleText(message).replaceAll("\n", "\n  ");
}

interface Suppressed {
  readonly error: unknown;
  readonly suppressed: unknown;
}

/** Checks the name, because not every supported Node has the class. */
function isSuppressed(error: unknown): error is Suppressed {
  return error instanceof Error && error.name === "SuppressedError" && "suppressed" in error;
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

// Finds the name that a mistyped word means: one edit away. The match is strict, because messages
// begin with words that resemble commands: `how` is not `show`, `what` is not `chat`. Pure.

/** Shorter words resemble too many names: `go` is not `gc`. */
const SHORTEST = 3;

/** The name that the word means; undefined if it is exactly a name or resembles none. */
export function meantName(word: string, names: readonly string[]): string | undefined {
  if (word.length < SHORTEST || names.includes(word)) return undefined;
  return names.find((name) => isOneEditAway(word, name));
}

/** One letter added, missing or wrong after the first letter, or two neighbours swapped anywhere. */
function isOneEditAway(word: string, name: string): boolean {
  let start = 0;
  while (start < word.length && word[start] === name[start]) start++;
  let end = 0;
  const most = Math.min(word.length, name.length) - start;
  while (end < most && word.at(-1 - end) === name.at(-1 - end)) end++;
  const typed = word.slice(start, word.length - end);
  const meant = name.slice(start, name.length - end);
  if (typed.length === 2 && meant.length === 2)
    return typed[0] === meant[1] && typed[1] === meant[0];
  return start > 0 && typed.length <= 1 && meant.length <= 1;
}
