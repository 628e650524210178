/** Finds a text or a regular expression in lines. Stops an expression that takes too long. */
import { folderError } from "./folder-error.ts";
import { timeBoxed } from "./time-box.ts";

/** Milliseconds for the lines of one file, far more than an ordinary expression takes. */
const patience = 1000;
const longestLine = 300;

export interface LineMatch {
  /** Counted from 1. */
  readonly line: number;
  /** The trimmed line; a long line is cut around the match, marked by `…`. */
  readonly text: string;
}

export type LineFinder = (lines: readonly string[]) => readonly LineMatch[];

export interface Query {
  readonly query: string;
  readonly regex: boolean;
  readonly ignoreCase: boolean;
  /** The most lines of one file. */
  readonly limit: number;
}

export function lineFinder({ query, regex, ignoreCase, limit }: Query): LineFinder {
  if (regex) {
    const expression = compile(query, ignoreCase);
    const over = () => unusable(query, "it takes too long to match");
    return (lines) =>
      timeBoxed(patience, () => collect(lines, limit, (line) => line.search(expression)), over);
  }
  const wanted = ignoreCase ? query.toLowerCase() : query;
  return (lines) =>
    collect(lines, limit, (line) => (ignoreCase ? line.toLowerCase() : line).indexOf(wanted));
}

function collect(
  lines: readonly string[],
  limit: number,
  find: (line: string) => number,
): readonly LineMatch[] {
  const matches: LineMatch[] = [];
  for (const [index, line] of lines.entries()) {
    if (matches.length === limit) break;
    const column = find(line);
    if (column !== -1) matches.push({ line: index + 1, text: around(line, column) });
  }
  return matches;
}

function around(line: string, column: number): string {
  const from = line.length <= longestLine ? 0 : Math.max(0, column - longestLine / 3);
  const text = line.slice(from, from + longestLine).trim();
  return `${from > 0 ? "…" : ""}${text}${from + longestLine < line.length ? "…" : ""}`;
}

function compile(query: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(query, ignoreCase ? "i" : "");
  } catch (error) {
    throw unusable(query, error instanceof Error ? error.message : "it is not valid", error);
  }
}

function unusable(query: string, why: string, cause?: unknown): Error {
  return folderError(
    "unusable",
    query,
    `The expression ${query} cannot be used: ${why}. Use a simpler one.`,
    cause,
  );
}
