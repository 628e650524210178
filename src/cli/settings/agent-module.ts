/** Loads a user's agent from a module, and instructions from a file. No other file loads a module whose name is known only at run time. */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { Agent } from "../../agent/index.ts";
import { UsageError } from "../output/error-report.ts";

/** Checks for a model only; the replay reports other errors in the agent. */
const agentSchema: z.ZodType<Agent> = z.custom<Agent>(
  (value) => typeof value === "object" && value !== null && "model" in value,
);
const moduleSchema = z.union([
  z.looseObject({ agent: agentSchema }).transform(({ agent }) => agent),
  z.looseObject({ default: agentSchema }).transform((module) => module.default),
]);

/** @throws UsageError if the module exports no agent, and what the module throws */
export async function agentOf(file: string): Promise<Agent> {
  const loaded: unknown = await import(pathToFileURL(resolve(file)).href);
  const parsed = moduleSchema.safeParse(loaded);
  if (parsed.success) return parsed.data;
  throw new UsageError(
    `${file} has no agent: export one as "agent" or as default, an object with a model.`,
  );
}

/** The text of the file of `--instructions`. @throws UsageError */
export async function instructionsIn(file: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(file, "utf8")).trim();
  } catch (cause) {
    throw new UsageError(`The instructions in ${file} cannot be read: ${String(cause)}`, { cause });
  }
  if (text !== "") return text;
  throw new UsageError(`${file} is empty: write the agent's instructions into it.`);
}
