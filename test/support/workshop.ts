/**
 * Tools that do something that can be seen from outside: each notes its work in a file before and
 * while it is done, by plain appends, which survive the death of the process. A work is known by
 * its key; a key that is begun twice was run twice.
 */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import { callIdentity } from "../../src/public/index.ts";
import type { ToolPolicy } from "../../src/agent/index.ts";

export interface Work {
  readonly key: string;
  readonly toolName: string;
  readonly effectId: string;
}

const inputSchema = z.object({ key: z.string() });
type Input = z.infer<typeof inputSchema>;

/** The names of the tools. */
export const workTools = ["note", "toil", "report", "break", "guarded", "settle"] as const;

/** Only `settle` may be run again, with the same effect id. */
export const workPolicies: Readonly<Record<string, ToolPolicy>> = { settle: { idempotent: true } };

export interface WorkshopOptions {
  /** Where the work is noted. */
  readonly file: string;
  /** Told when a tool has begun, after that is noted. */
  readonly onWork?: (work: Work) => void;
}

export function workshop({ file, onWork }: WorkshopOptions): ToolSet {
  const begin = (toolName: string, { key }: Input, options: unknown): void => {
    const work: Work = { key, toolName, effectId: callIdentity(options).effectId };
    appendFileSync(file, `${JSON.stringify(work)}\n`);
    onWork?.(work);
  };
  const toil = async (): Promise<void> => {
    for (let round = 0; round < 5; round++) await appendFile(`${file}.toil`, ".");
  };
  return {
    note: tool({
      inputSchema,
      execute: ({ key }: Input, options) => {
        begin("note", { key }, options);
        return { noted: key };
      },
    }),
    toil: tool({
      inputSchema,
      execute: async ({ key }: Input, options) => {
        begin("toil", { key }, options);
        await toil();
        return `done with ${key}`;
      },
    }),
    report: tool({
      inputSchema,
      execute: async function* ({ key }: Input, options) {
        begin("report", { key }, options);
        for (let part = 1; part <= 3; part++) {
          await toil();
          yield { key, part };
        }
      },
    }),
    break: tool({
      inputSchema,
      execute: async ({ key }: Input, options): Promise<string> => {
        begin("break", { key }, options);
        await toil();
        throw new Error(`It broke: ${key}`);
      },
    }),
    guarded: tool({
      inputSchema,
      // Deprecated in favour of a setting of `streamText`; a tool that is taken unchanged has it.
      // oxlint-disable-next-line typescript/no-deprecated
      needsApproval: true,
      execute: ({ key }: Input, options) => {
        begin("guarded", { key }, options);
        return { done: key };
      },
    }),
    settle: tool({
      inputSchema,
      execute: async ({ key }: Input, options) => {
        begin("settle", { key }, options);
        await toil();
        return { settled: key };
      },
    }),
  };
}

/** Lines of a file that other processes append to; one that is not whole does not count. */
export function wholeLines(file: string): readonly string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8").split("\n").slice(0, -1);
}

const workSchema: z.ZodType<Work> = z.object({
  key: z.string(),
  toolName: z.string(),
  effectId: z.string(),
});

/** Every work that was begun, in order. */
export function workDone(file: string): readonly Work[] {
  return wholeLines(file).map((line) => workSchema.parse(JSON.parse(line)));
}

/** Work that was done twice, although its tool does not allow it, or under another effect id. */
export function repetitions(works: readonly Work[]): readonly string[] {
  return works.flatMap(({ key, toolName, effectId }, index) => {
    const before = works
      .slice(0, index)
      .find((work) => work.key === key || work.effectId === effectId);
    if (before === undefined) return [];
    if (workPolicies[toolName]?.idempotent !== true) return [`${toolName} ran twice for ${key}`];
    return before.key === key && before.effectId === effectId
      ? []
      : [`${toolName} ran again for ${key} under another effect id`];
  });
}
