/**
 * The tools of an agent for a folder: `list_files`, `read_file`, `search_files` and, if writing is
 * allowed, `write_file`. They must never read or write outside the folder.
 */
import { type Tool, tool } from "ai";
import { folderBoundary, explained, refused, type FolderBoundary } from "./folder-boundary.ts";
import { listFilesTool, type ListFilesInput, type ListFilesOutput } from "./list-files-tool.ts";
import { readFileTool, type ReadFileInput, type ReadFileOutput } from "./read-file-tool.ts";
import {
  searchFilesTool,
  type SearchFilesInput,
  type SearchFilesOutput,
} from "./search-files-tool.ts";
import { existsSync } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";

export interface FolderToolsOptions {
  /** Whether to offer `write_file`. Default: false. */
  readonly allowWrite?: boolean;
  /** Folders to exclude besides `.turnlog`, absolute or relative to the root, such as the store. */
  readonly keepOut?: readonly string[];
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
    read_file: readFileTool(boundary),
    search_files: searchFilesTool(boundary),
    ...(options.allowWrite === true && { write_file: writeFileTool(boundary) }),
  };
}

// The tool `write_file`: creates or replaces a text file. Offered only if writing is allowed.

interface WriteFileInput {
  readonly path: string;
  readonly text: string;
}

const inputSchema: z.ZodType<WriteFileInput> = z.object({
  path: z.string().min(1).describe("The file to write; folders that are missing are made."),
  text: z.string().describe("The whole text of the file; what it held before is replaced."),
});

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
