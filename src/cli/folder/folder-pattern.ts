/** Matches file names against a glob from a model. A glob without `/` matches the last name only. */
import { matchesGlob, posix } from "node:path";
import { folderError } from "./folder-error.ts";
import { timeBoxed } from "./time-box.ts";

/** Milliseconds for the names of one folder, far more than an ordinary glob takes. */
const patience = 1000;
const longestPattern = 200;

/** Which of the names match. The names are relative to the start of the walk. */
export type PatternFilter = (names: readonly string[]) => readonly boolean[];

export function patternFilter(pattern: string | undefined): PatternFilter {
  if (pattern === undefined) return (names) => names.map(() => true);
  // A range or several choices expand into millions of globs before the first match.
  if (
    pattern.length > longestPattern ||
    /\{[^}]*\.\./.test(pattern) ||
    (pattern.match(/\{/g) ?? []).length > 3
  ) {
    throw unusable(pattern, "it is too long, holds a range, or has more than three {a,b} choices");
  }
  const glob = pattern.startsWith("./") ? pattern.slice(2) : pattern;
  const last = !glob.includes("/");
  const work = (names: readonly string[]) =>
    names.map((name) => matchesGlob(last ? posix.basename(name) : name, glob));
  return (names) =>
    timeBoxed(
      patience,
      () => work(names),
      () => unusable(pattern, "it takes too long to match"),
    );
}

function unusable(pattern: string, why: string): Error {
  return folderError(
    "unusable",
    pattern,
    `The pattern ${pattern} cannot be used: ${why}. Use a simpler one.`,
  );
}
