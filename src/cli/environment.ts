/** What the command line reads from the environment. Parsed here and nowhere else. */

import { z } from "zod";
import { UsageError } from "./usage-error.ts";

export interface Environment {
  readonly openaiKey?: string | undefined;
  readonly openaiBaseUrl?: string | undefined;
  readonly googleKey?: string | undefined;
  /** How this process was started, in the words with which it can be started again. */
  readonly startedBy: "turnlog" | "npm start --";
}

// Set to nothing is not set: that is how a shell takes a variable back for one command.
const text = z
  .string()
  .optional()
  .transform((value) => (value === undefined || value.trim() === "" ? undefined : value.trim()));

const schema: z.ZodType<Environment> = z
  .object({
    OPENAI_API_KEY: text,
    OPENAI_BASE_URL: text.pipe(z.url({ protocol: /^https?$/ }).optional()),
    GOOGLE_GENERATIVE_AI_API_KEY: text,
    npm_lifecycle_event: text,
  })
  .transform((variables) => ({
    openaiKey: variables.OPENAI_API_KEY,
    openaiBaseUrl: variables.OPENAI_BASE_URL,
    googleKey: variables.GOOGLE_GENERATIVE_AI_API_KEY,
    startedBy: variables.npm_lifecycle_event === "start" ? "npm start --" : "turnlog",
  }));

/** @throws UsageError when a variable makes no sense */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const parsed = schema.safeParse(variables);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(
    `The environment variable ${issue?.path.join(".")} is not usable: ${issue?.message}.`,
  );
}
