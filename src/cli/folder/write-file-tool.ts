/** The tool `write_file`: creates or replaces a text file. Offered only if writing is allowed. */
import { existsSync } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { tool, type Tool } from "ai";
import { z } from "zod";
import { explained, refused, type FolderBoundary } from "./folder-boundary.ts";

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
