/** Loads a user's agent from a module. No other file loads a module whose name is known only at run time. */

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
