/**
 * The tools that an agent gets over a folder: `list_files`, `read_file`, `search_files` and, only
 * when writing is allowed, `write_file`. Nothing outside the folder is read or written.
 */
import type { Tool } from "ai";
import { folderBoundary } from "./folder-boundary.ts";
import { listFilesTool, type ListFilesInput, type ListFilesOutput } from "./list-files-tool.ts";
import { readFileTool, type ReadFileInput, type ReadFileOutput } from "./read-file-tool.ts";
import {
  searchFilesTool,
  type SearchFilesInput,
  type SearchFilesOutput,
} from "./search-files-tool.ts";
import { writeFileTool, type WriteFileInput, type WriteFileOutput } from "./write-file-tool.ts";

/** Options of {@link folderTools}. */
export interface FolderToolsOptions {
  /** Offers `write_file` too. Default: no. */
  readonly allowWrite?: boolean;
  /** Folders to keep out of beside `.turnlog`, absolute or relative to the root: where the sessions' log is. */
  readonly keepOut?: readonly string[];
}

/** AI SDK tools, to be given to an agent as they are. */
export type FolderTools = {
  readonly list_files: Tool<ListFilesInput, ListFilesOutput>;
  readonly read_file: Tool<ReadFileInput, ReadFileOutput>;
  readonly search_files: Tool<SearchFilesInput, SearchFilesOutput>;
  readonly write_file?: Tool<WriteFileInput, WriteFileOutput>;
};

/**
 * Makes the tools over a folder. Their failures are `TurnlogError`s with the code `INVALID_INPUT`,
 * whose message tells the model what to do instead and whose `details.reason` says what it was.
 *
 * @throws when the folder does not exist or is none.
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
