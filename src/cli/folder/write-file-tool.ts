/** The tool `write_file`: creates or replaces a text file. Offered only if writing is allowed. */
import { tool, type Tool } from "ai";
import { z } from "zod";
import type { FolderBoundary } from "./folder-boundary.ts";
import { openToWrite } from "./folder-file.ts";

export interface WriteFileInput {
  readonly path: string;
  readonly text: string;
}

const inputSchema: z.ZodType<WriteFileInput> = z.object({
  path: z.string().min(1).describe("The file to write; folders that are missing are made."),
  text: z.string().describe("The whole text of the file; what it held before is replaced."),
});

export interface WriteFileOutput {
  readonly path: string;
  readonly bytes: number;
  readonly created: boolean;
}

export function writeFileTool(boundary: FolderBoundary): Tool<WriteFileInput, WriteFileOutput> {
  return tool({
    description:
      "Writes a text file, replacing what it held. Never writes to .git, .turnlog or node_modules.",
    inputSchema,
    async execute({ path, text }, { abortSignal }): Promise<WriteFileOutput> {
      abortSignal?.throwIfAborted();
      const { handle, located, created } = await openToWrite(boundary, path);
      await using _ = handle;
      // An abort from here on is ignored: half a file would be worse than the whole one.
      await handle.truncate(0);
      await handle.writeFile(text);
      return { path: located.name, bytes: Buffer.byteLength(text), created };
    },
  });
}
