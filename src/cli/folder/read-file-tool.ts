/** The tool `read_file`: a text file, or some of its lines, up to a limit. */
import { textStart } from "../../events/index.ts";
import { tool, type Tool } from "ai";
import { z } from "zod";
import { refused, type FolderBoundary } from "./folder-boundary.ts";
import { readLines } from "./folder-files.ts";

const mostLines = 2000;
const mostCharacters = 50_000;

export interface ReadFileInput {
  readonly path: string;
  readonly startLine?: number | undefined;
  readonly endLine?: number | undefined;
}

const inputSchema: z.ZodType<ReadFileInput> = z.object({
  path: z.string().describe("The file to read."),
  startLine: z.int().min(1).optional().describe("The first line, counted from 1. Default: 1."),
  endLine: z.int().min(1).optional().describe("The last line. Default: the end of the file."),
});

export interface ReadFileOutput {
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

export function readFileTool(boundary: FolderBoundary): Tool<ReadFileInput, ReadFileOutput> {
  return tool({
    description: `Reads a text file, at most ${mostLines} lines or ${mostCharacters} characters at once.`,
    inputSchema,
    async execute({ path, startLine = 1, endLine }, { abortSignal }): Promise<ReadFileOutput> {
      abortSignal?.throwIfAborted();
      const located = await boundary.locate(path);
      const lines = await readLines(located);
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
