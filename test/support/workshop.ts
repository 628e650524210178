/**
 * Tools that do something that can be seen from outside: each notes its work in a file before and
 * while it is done, by plain appends, which survive the death of the process. A work is known by
 * its key; a key that is begun twice was run twice.
 */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { tool, type ToolSet } from "ai";
import { z } from "zod";

export interface Work {
  readonly key: string;
  readonly toolName: string;
}

const inputSchema = z.object({ key: z.string() });
type Input = z.infer<typeof inputSchema>;

/** The names of the tools. */
export const workTools = ["note", "toil", "report", "break", "guarded"] as const;

export interface WorkshopOptions {
  /** Where the work is noted. */
  readonly file: string;
  /** Told when a tool has begun, after that is noted. */
  readonly onWork?: (work: Work) => void;
}

export function workshop({ file, onWork }: WorkshopOptions): ToolSet {
  const begin = (work: Work): void => {
    appendFileSync(file, `${JSON.stringify(work)}\n`);
    onWork?.(work);
  };
  const toil = async (): Promise<void> => {
    for (let round = 0; round < 5; round++) await appendFile(`${file}.toil`, ".");
  };
  return {
    note: tool({
      inputSchema,
      execute: ({ key }: Input) => {
        begin({ key, toolName: "note" });
        return { noted: key };
      },
    }),
    toil: tool({
      inputSchema,
      execute: async ({ key }: Input) => {
        begin({ key, toolName: "toil" });
        await toil();
        return `done with ${key}`;
      },
    }),
    report: tool({
      inputSchema,
      execute: async function* ({ key }: Input) {
        begin({ key, toolName: "report" });
        for (let part = 1; part <= 3; part++) {
          await toil();
          yield { key, part };
        }
      },
    }),
    break: tool({
      inputSchema,
      execute: async ({ key }: Input): Promise<string> => {
        begin({ key, toolName: "break" });
        await toil();
        throw new Error(`It broke: ${key}`);
      },
    }),
    guarded: tool({
      inputSchema,
      // Deprecated in favour of a setting of `streamText`; a tool that is taken unchanged has it.
      // oxlint-disable-next-line typescript/no-deprecated
      needsApproval: true,
      execute: ({ key }: Input) => {
        begin({ key, toolName: "guarded" });
        return { done: key };
      },
    }),
  };
}

/** Lines of a file that other processes append to; one that is not whole does not count. */
export function wholeLines(file: string): readonly string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8").split("\n").slice(0, -1);
}

const workSchema: z.ZodType<Work> = z.object({ key: z.string(), toolName: z.string() });

/** Every work that was begun, in order. */
export function workDone(file: string): readonly Work[] {
  return wholeLines(file).map((line) => workSchema.parse(JSON.parse(line)));
}
