/** The tool `search_files`: the lines of text files that contain a text or match an expression. */
import { tool, type Tool } from "ai";
import { z } from "zod";
import type { FolderBoundary } from "./folder-boundary.ts";
import { searchFolder } from "./folder-search.ts";
import { shortened } from "./folder-walk.ts";
import { lineFinder, type LineMatch } from "./line-finder.ts";

const usualLimit = 100;
const mostLooked = 20_000;

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

interface SearchMatch extends LineMatch {
  readonly file: string;
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
    async execute(
      { query, path = ".", pattern, limit = usualLimit, ...input },
      { abortSignal },
    ): Promise<SearchFilesOutput> {
      const { regex = false, ignoreCase = false } = input;
      // One more than the limit shows whether there are more.
      const find = lineFinder({ query, regex, ignoreCase, limit: limit + 1 });
      const start = await boundary.locate(path);
      const matches: SearchMatch[] = [];
      const notes: string[] = [];
      let binary = 0;
      let looked = 0;
      let cut: string | undefined;
      for await (const found of searchFolder(boundary, start, {
        find,
        pattern,
        signal: abortSignal,
      })) {
        if (looked === mostLooked) {
          cut = `the search ended after ${looked} files. Name a folder or a pattern.`;
          break;
        }
        looked += 1;
        if (found.kind === "binary") binary += 1;
        if (found.kind === "passed-over") notes.push(`${found.name} (${found.why})`);
        if (found.kind !== "searched") continue;
        if (found.note !== undefined) notes.push(`${found.name} (${found.note})`);
        matches.push(...found.matches.map((match) => ({ file: found.name, ...match })));
        if (matches.length > limit) {
          matches.length = limit;
          cut = `the limit of ${limit} lines was reached. Name a folder or a pattern, or raise the limit.`;
          break;
        }
      }
      if (binary > 0) notes.push(`${binary} binary ${binary === 1 ? "file" : "files"}`);
      return {
        matches,
        ...(notes.length > 0 && { passedOver: shortened(notes) }),
        ...(cut !== undefined && { cut }),
      };
    },
  });
}
