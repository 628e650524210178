/** Tools that several tests use. */

import { tool, type Tool } from "ai";
import { z } from "zod";

/** Answers what it is given. */
export const echo: Tool<{ readonly value: unknown }, unknown> = tool({
  inputSchema: z.object({ value: z.unknown() }),
  execute: ({ value }: { readonly value: unknown }): unknown => value,
});
