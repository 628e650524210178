/** The tool `read_file`: a text file, or some of its lines, up to a limit. */
import { textStart } from "../../events/index.ts";
import { tool, type Tool } from "ai";
import { z } from "zod";
import type { FolderBoundary } from "./folder-boundary.ts";
import { folderError } from "./folder-error.ts";
import { openToRead } from "./folder-file.ts";
import { mostBytes, readText, sizeOf } from "./folder-text.ts";

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
  /** Lines of the file; absent if the file is too large to be read to its end. */
  readonly totalLines?: number;
  /** Present if `text` is less than requested. */
  readonly cut?: string;
}

export function readFileTool(boundary: FolderBoundary): Tool<ReadFileInput, ReadFileOutput> {
  return tool({
    description: `Reads a text file, at most ${mostLines} lines or ${mostCharacters} characters at once.`,
    inputSchema,
    async execute({ path, startLine = 1, endLine }, { abortSignal }): Promise<ReadFileOutput> {
      const located = await boundary.locate(path);
      await using handle = await openToRead(boundary, located);
      const read = await readText(handle, abortSignal);
      if (read.kind === "binary") {
        throw folderError(
          "not-text",
          path,
          `${located.name} is a binary file (${sizeOf(read.bytes)}), which cannot be read as text.`,
        );
      }
      const { lines, whole } = read;
      const total = whole
        ? `${lines.length} lines`
        : `more than ${lines.length} lines, of which these can be read`;
      if (startLine > Math.max(lines.length, 1)) {
        throw folderError(
          "unusable",
          path,
          `${located.name} has ${total}; there is no line ${startLine}.`,
        );
      }
      if (endLine !== undefined && endLine < startLine) {
        throw folderError(
          "unusable",
          path,
          `endLine ${endLine} comes before startLine ${startLine}.`,
        );
      }
      const asked = lines.slice(startLine - 1, endLine);
      const shown = fitting(asked);
      const text = textStart(shown.join("\n"), mostCharacters);
      const last = startLine + shown.length - 1;
      return {
        path: located.name,
        text,
        startLine,
        endLine: last,
        ...(whole && { totalLines: lines.length }),
        ...cutOf(asked, shown, last, whole || (endLine !== undefined && endLine <= lines.length)),
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
  complete: boolean,
): { readonly cut?: string } {
  const length = shown[0]?.length ?? 0;
  if (length > mostCharacters) {
    const more = asked.length > 1 ? ` Go on with startLine ${last + 1}.` : "";
    return {
      cut: `line ${last} has ${length} characters, of which the first ${mostCharacters} are shown.${more}`,
    };
  }
  if (shown.length < asked.length) {
    return { cut: `the text ends after line ${last}. Go on with startLine ${last + 1}.` };
  }
  return complete ? {} : { cut: `only the first ${sizeOf(mostBytes)} of the file can be read.` };
}
