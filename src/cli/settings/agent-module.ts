/** A user's own agent, from the module that has it. The only place that loads what only run time knows. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { Agent } from "../../agent/index.ts";
import { UsageError } from "../output/index.ts";

/** As far as it can be told from outside; what is wrong inside, the replay says. */
const agentSchema: z.ZodType<Agent> = z.custom<Agent>(
  (value) => typeof value === "object" && value !== null && "model" in value,
);
const moduleSchema = z.union([
  z.looseObject({ agent: agentSchema }).transform(({ agent }) => agent),
  z.looseObject({ default: agentSchema }).transform((module) => module.default),
]);

/** @throws UsageError where the file has no agent, and what the module throws */
export async function agentOf(file: string): Promise<Agent> {
  const loaded: unknown = await import(pathToFileURL(resolve(file)).href);
  const parsed = moduleSchema.safeParse(loaded);
  if (parsed.success) return parsed.data;
  throw new UsageError(
    `${file} has no agent: it must export one as "agent" or by default, an object with a model.`,
  );
}
