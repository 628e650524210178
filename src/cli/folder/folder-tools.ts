/**
 * The tools of an agent for a folder: `list_files`, `read_file`, `search_files` and, if writing is
 * allowed, `write_file`. They must never read or write outside the folder.
 */
import { type Tool, tool } from "ai";
import { folderBoundary, explained, refused, type FolderBoundary } from "./folder-boundary.ts";
import { existsSync } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { coverage, linesOf, walkFolder, readLines, timeBoxed, type Walk } from "./folder-files.ts";
import { textStart } from "../../events/index.ts";

export interface FolderToolsOptions {
  /** Whether to offer `write_file`. Default: false. */
  readonly allowWrite?: boolean;
  /** Folders to exclude besides `.turnlog`, absolute or relative to the root, such as the store. */
  readonly keepOut?: readonly string[];
  /**
   * Gives `read_file` the text of a file that an editor has changed and not saved.
   * @param options - The second argument of the tool's `execute`
   */
  readonly readText?: ((path: string, options: unknown) => Promise<string | undefined>) | undefined;
}

export type FolderTools = {
  readonly list_files: Tool<ListFilesInput, ListFilesOutput>;
  readonly read_file: Tool<ReadFileInput, ReadFileOutput>;
  readonly search_files: Tool<SearchFilesInput, SearchFilesOutput>;
  readonly write_file?: Tool<WriteFileInput, WriteFileOutput>;
};

/**
 * The tools fail with `INVALID_INPUT`: the message tells the model what to do instead.
 * @throws if the folder does not exist or is not a folder
 */
export function folderTools(folder: string, options: FolderToolsOptions = {}): FolderTools {
  const boundary = folderBoundary(folder, options.keepOut);
  return {
    list_files: listFilesTool(boundary),
    read_file: readFileTool(boundary, options.readText),
    search_files: searchFilesTool(boundary),
    ...(options.allowWrite === true && { write_file: writeFileTool(boundary) }),
  };
}

// The tool `write_file`: creates or replaces a text file. Offered only if writing is allowed.

const inputSchema = z.object({
  path: z.string().min(1).describe("The file to write; folders that are missing are made."),
  text: z.string().describe("The whole text of the file; what it held before is replaced."),
});
type WriteFileInput = z.output<typeof inputSchema>;

interface WriteFileOutput {
  readonly path: string;
  readonly bytes: number;
  readonly created: boolean;
}

function writeFileTool(boundary: FolderBoundary): Tool<WriteFileInput, WriteFileOutput> {
  return tool({
    description:
      "Writes a text file, replacing what it held. Never writes to .git, .turnlog or node_modules.",
    inputSchema,
    async execute({ path, text }, { abortSignal }): Promise<WriteFileOutput> {
      abortSignal?.throwIfAborted();
      const { real, name } = await boundary.locateToWrite(path);
      const created = !existsSync(real);
      try {
        // A pipe would wait for a reader.
        if (!created && !(await stat(real)).isFile())
          throw refused(path, `${path} is a folder or something else that is not a file.`);
        await mkdir(dirname(real), { recursive: true });
        // An abort from here on is ignored: half a file would be worse than the whole one.
        await writeFile(real, text);
      } catch (error) {
        throw explained(path, error);
      }
      return { path: name, bytes: Buffer.byteLength(text), created };
    },
  });
}

// The tool `list_files`: the names in a folder, up to a limit. Reads no file.

const usualLimit = 300;

const listInput = z.object({
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
type ListFilesInput = z.output<typeof listInput>;

interface ListFilesOutput {
  readonly path: string;
  /** Sorted names relative to the root; folders end in `/` and are named only when not recursive. */
  readonly entries: readonly string[];
  /** Skipped entries, and why. */
  readonly passedOver?: readonly string[];
  /** Present if there are more entries. */
  readonly cut?: string;
}

function listFilesTool(boundary: FolderBoundary): Tool<ListFilesInput, ListFilesOutput> {
  return tool({
    description:
      "Lists files and folders by name. Leaves out .git, .turnlog and node_modules. A glob takes names that begin with a dot only where it spells the dot.",
    inputSchema: listInput,
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

// The tool `read_file`: a text file, or some of its lines, up to a limit.

const mostLines = 2000;
const mostCharacters = 50_000;

const readInput = z.object({
  path: z.string().describe("The file to read."),
  startLine: z.int().min(1).optional().describe("The first line, counted from 1. Default: 1."),
  endLine: z.int().min(1).optional().describe("The last line. Default: the end of the file."),
});
type ReadFileInput = z.output<typeof readInput>;

interface ReadFileOutput {
  readonly path: string;
  readonly text: string;
  /** The lines of `text`; `endLine` is `startLine - 1` for an empty file. */
  readonly startLine: number;
  readonly endLine: number;
  /** Lines of the file. */
  readonly totalLines: number;
  /** Present if `text` is less than requested. */
  readonly cut?: string;
}

function readFileTool(
  boundary: FolderBoundary,
  readText: FolderToolsOptions["readText"],
): Tool<ReadFileInput, ReadFileOutput> {
  return tool({
    description: `Reads a text file, at most ${mostLines} lines or ${mostCharacters} characters at once.`,
    inputSchema: readInput,
    async execute({ path, startLine = 1, endLine }, options): Promise<ReadFileOutput> {
      options.abortSignal?.throwIfAborted();
      const located = await boundary.locate(path);
      const newer = await readText?.(located.real, options);
      const lines = newer === undefined ? await readLines(located) : linesOf(newer);
      const { name } = located;
      if (lines === undefined)
        throw refused(path, `${name} is a binary file, which cannot be read as text.`);
      if (startLine > Math.max(lines.length, 1))
        throw refused(path, `${name} has ${lines.length} lines; there is no line ${startLine}.`);
      if (endLine !== undefined && endLine < startLine)
        throw refused(path, `endLine ${endLine} comes before startLine ${startLine}.`);
      const asked = lines.slice(startLine - 1, endLine);
      const shown = fitting(asked);
      const last = startLine + shown.length - 1;
      return {
        path: name,
        text: textStart(shown.join("\n"), mostCharacters),
        startLine,
        endLine: last,
        totalLines: lines.length,
        ...cutOf(asked, shown, last),
      };
    },
  });
}

/** The lines that fit one answer, at least one. */
function fitting(lines: readonly string[]): readonly string[] {
  let characters = 0;
  const end = lines.slice(0, mostLines).findIndex((line, index) => {
    characters += line.length + 1;
    return index > 0 && characters > mostCharacters + 1;
  });
  return lines.slice(0, end === -1 ? mostLines : end);
}

function cutOf(
  asked: readonly string[],
  shown: readonly string[],
  last: number,
): { readonly cut?: string } {
  const more = shown.length < asked.length ? ` Go on with startLine ${last + 1}.` : "";
  const length = shown[0]?.length ?? 0;
  if (length > mostCharacters)
    return {
      cut: `line ${last} has ${length} characters, of which the first ${mostCharacters} are shown.${more}`,
    };
  return more === "" ? {} : { cut: `the text ends after line ${last}.${more}` };
}

// The tool `search_files`: the lines of text files that contain a text or match an expression.

const usualMatches = 100;
const longestLine = 300;

const searchInput = z.object({
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
    .describe(`At most so many lines. Default: ${usualMatches}.`),
});
type SearchFilesInput = z.output<typeof searchInput>;

interface SearchMatch {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The trimmed line; a long line is cut around the match, marked by `…`. */
  readonly text: string;
}

interface SearchFilesOutput {
  /** Sorted by file as listed, then by line. */
  readonly matches: readonly SearchMatch[];
  /** Skipped files, and why. */
  readonly passedOver?: readonly string[];
  /** Present if there may be more matches. */
  readonly cut?: string;
}

function searchFilesTool(boundary: FolderBoundary): Tool<SearchFilesInput, SearchFilesOutput> {
  return tool({
    description:
      "Searches the text files of a folder and all folders below, line by line. Leaves out .git, .turnlog, node_modules and binary files.",
    inputSchema: searchInput,
    async execute(input, { abortSignal: signal }): Promise<SearchFilesOutput> {
      const { path = ".", pattern, limit = usualMatches } = input;
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
