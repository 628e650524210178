/** The tool `search_files`: the lines of text files that contain a text or match an expression. */
import { stat } from "node:fs/promises";
import { tool, type Tool } from "ai";
import { z } from "zod";
import { explained, refused, type FolderBoundary } from "./folder-boundary.ts";
import { coverage, readLines, timeBoxed, walkFolder, type Walk } from "./folder-files.ts";

const usualLimit = 100;
const longestLine = 300;

export interface SearchFilesInput {
  readonly query: string;
  readonly regex?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
  readonly path?: string | undefined;
  readonly pattern?: string | undefined;
  readonly limit?: number | undefined;
}

const inputSchema: z.ZodType<SearchFilesInput> = z.object({
  query: z.string().min(1).max(1000).describe("The text to search for, within one line."),
  regex: z
    .boolean()
    .optional()
    .describe("Whether query is a JavaScript regular expression. Default: no."),
  ignoreCase: z.boolean().optional().describe("Whether capitals do not matter. Default: they do."),
  path: z
    .string()
    .optional()
    .describe("A folder or file to search in. Left out: the whole folder."),
  pattern: z
    .string()
    .optional()
    .describe('Only files that this glob takes, e.g. "**/*.ts" or "*.md".'),
  limit: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(`At most so many lines. Default: ${usualLimit}.`),
});

interface SearchMatch {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The trimmed line; a long line is cut around the match, marked by `…`. */
  readonly text: string;
}

export interface SearchFilesOutput {
  /** Sorted by file as listed, then by line. */
  readonly matches: readonly SearchMatch[];
  /** Skipped files, and why. */
  readonly passedOver?: readonly string[];
  /** Present if there may be more matches. */
  readonly cut?: string;
}

export function searchFilesTool(
  boundary: FolderBoundary,
): Tool<SearchFilesInput, SearchFilesOutput> {
  return tool({
    description:
      "Searches the text files of a folder and all folders below, line by line. Leaves out .git, .turnlog, node_modules and binary files.",
    inputSchema,
    async execute(input, { abortSignal: signal }): Promise<SearchFilesOutput> {
      const { path = ".", pattern, limit = usualLimit } = input;
      const find = columnFinder(input);
      const start = await boundary.locate(path);
      const walk: Walk = (await stat(start.real)).isDirectory()
        ? await walkFolder(boundary, start, { recursive: true, pattern, signal })
        : { found: [{ ...start, isFolder: false }], passedOver: [] };
      const matches: SearchMatch[] = [];
      const notes = [...walk.passedOver];
      let binary = 0;
      for (const file of walk.found) {
        signal?.throwIfAborted();
        // One more than the limit shows that there are more.
        if (matches.length > limit) break;
        if (file.isFolder) continue;
        const lines = await readLines(file).catch((error: unknown) => explained(file.name, error));
        if (lines === undefined) binary += 1;
        else if (lines instanceof Error) notes.push(`${file.name} (${lines.message})`);
        else {
          for (const [index, column] of find(lines).entries()) {
            if (column === -1) continue;
            matches.push({ file: file.name, line: index + 1, text: around(lines[index], column) });
          }
        }
      }
      if (binary > 0) notes.push(`${binary} binary ${binary === 1 ? "file" : "files"}`);
      const cut =
        matches.length > limit
          ? `the limit of ${limit} lines was reached. Name a folder or a pattern, or raise the limit.`
          : walk.cut;
      return { matches: matches.slice(0, limit), ...coverage(notes, cut) };
    },
  });
}

/** Finds the column of a match in each line, or -1. */
function columnFinder({
  query,
  regex = false,
  ignoreCase = false,
}: SearchFilesInput): (lines: readonly string[]) => readonly number[] {
  if (regex) {
    const expression = compile(query, ignoreCase);
    return (lines) => timeBoxed(query, () => lines.map((line) => line.search(expression)));
  }
  const wanted = ignoreCase ? query.toLowerCase() : query;
  return (lines) => lines.map((line) => (ignoreCase ? line.toLowerCase() : line).indexOf(wanted));
}

function compile(query: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(query, ignoreCase ? "i" : "");
  } catch (error) {
    const why = error instanceof Error ? error.message : "it is not valid";
    throw refused(
      query,
      `The expression ${query} cannot be used: ${why}. Use a simpler one.`,
      error,
    );
  }
}

function around(line = "", column: number): string {
  const from = line.length <= longestLine ? 0 : Math.max(0, column - longestLine / 3);
  const text = line.slice(from, from + longestLine).trim();
  return `${from > 0 ? "…" : ""}${text}${from + longestLine < line.length ? "…" : ""}`;
}
