/**
 * The tools of an agent for a folder: `list_files`, `read_file`, `search_files` and, if writing is
 * allowed, `write_file`. They must never read or write outside the folder.
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
