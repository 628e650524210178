/** What the agents of several recorded sessions have in common: tools, refusals, words. */

import { APICallError, tool, type ToolSet } from "ai";
import { z } from "zod";

const nothing = z.object({});

/** By the names that `every-position.test.ts` knows. */
export const usualTools: ToolSet = {
  quick: tool({ inputSchema: nothing, execute: async () => "done" }),
  deaf: tool({ inputSchema: nothing, execute: () => new Promise<string>(() => {}) }),
  book: tool({
    inputSchema: z.object({ city: z.string() }),
    // Deprecated in favour of a setting of `streamText`; a tool that is taken unchanged has it.
    // oxlint-disable-next-line typescript/no-deprecated
    needsApproval: true,
    execute: async ({ city }) => `A bed in ${city} is yours.`,
  }),
  lookUp: tool({
    inputSchema: z.object({ word: z.string() }),
    execute: async ({ word }) => `${word}: ${"a piece of wood; ".repeat(40)}`,
  }),
};

/** A provider's refusal; it asks for so many milliseconds of patience. */
export function refusal(statusCode: number, message: string, patienceMs = 0): APICallError {
  return new APICallError({
    message,
    statusCode,
    responseHeaders: { "retry-after-ms": String(patienceMs) },
    url: "https://provider.invalid",
    requestBodyValues: {},
    isRetryable: statusCode === 429 || statusCode >= 500,
  });
}

export function expectFailure(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "TURN_FAILED")) throw error;
}
