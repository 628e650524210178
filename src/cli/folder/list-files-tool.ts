/** The tool `list_files`: the names in a folder, up to a limit. Reads no file. */
import { tool, type Tool } from "ai";
import { z } from "zod";
import type { FolderBoundary } from "./folder-boundary.ts";
import { coverage, walkFolder } from "./folder-files.ts";

const usualLimit = 300;

export interface ListFilesInput {
  readonly path?: string | undefined;
  readonly pattern?: string | undefined;
  readonly recursive?: boolean | undefined;
  readonly limit?: number | undefined;
}

const inputSchema: z.ZodType<ListFilesInput> = z.object({
  path: z.string().optional().describe("The folder to list. Left out: the whole folder."),
  pattern: z
    .string()
    .optional()
    .describe('Only files that this glob takes, e.g. "**/*.ts" or "*.md"; implies recursive.'),
  recursive: z
    .boolean()
    .optional()
    .describe("Also list the files of all folders below. Default: no."),
  limit: z
    .int()
    .min(1)
    .max(5000)
    .optional()
    .describe(`At most so many entries. Default: ${usualLimit}.`),
});

export interface ListFilesOutput {
  readonly path: string;
  /** Sorted names relative to the root; folders end in `/` and are named only when not recursive. */
  readonly entries: readonly string[];
  /** Skipped entries, and why. */
  readonly passedOver?: readonly string[];
  /** Present if there are more entries. */
  readonly cut?: string;
}

export function listFilesTool(boundary: FolderBoundary): Tool<ListFilesInput, ListFilesOutput> {
  return tool({
    description:
      "Lists files and folders by name. Leaves out .git, .turnlog and node_modules. A glob takes names that begin with a dot only where it spells the dot.",
    inputSchema,
    async execute(
      { path = ".", pattern, limit = usualLimit, ...input },
      { abortSignal },
    ): Promise<ListFilesOutput> {
      const recursive = input.recursive ?? pattern !== undefined;
      const start = await boundary.locate(path);
      const walk = await walkFolder(boundary, start, { recursive, pattern, signal: abortSignal });
      const entries = walk.found
        .filter(({ isFolder }) => !isFolder || !(recursive || pattern !== undefined))
        .map(({ name, isFolder }) => (isFolder ? `${name}/` : name));
      const cut =
        entries.length > limit
          ? `the limit of ${limit} entries was reached. Name a folder or a pattern, or raise the limit.`
          : walk.cut;
      return {
        path: start.name,
        entries: entries.slice(0, limit),
        ...coverage(walk.passedOver, cut),
      };
    },
  });
}
