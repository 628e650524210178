/** What a server's answer to a call says, as far as it can be told. Pure; called by the connection. */

import { z } from "zod";
import { isGiven, mcpResultSchema, type McpResult } from "./mcp-result.ts";

export type CallAnswer =
  | { readonly kind: "result"; readonly result: McpResult }
  /** The server says that it does not run this. */
  | { readonly kind: "refused"; readonly why: string }
  /** It is no result of a tool. */
  | { readonly kind: "broken"; readonly why: string; readonly answer: unknown };

const messageSchema = z.looseObject({
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

const errorSchema = z.looseObject({ message: z.string() });

/** @param message - The message as it came. */
export function callAnswer(message: unknown): CallAnswer {
  const { result, error } = messageSchema.parse(message);
  if (error !== undefined && error !== null) {
    const said = errorSchema.safeParse(error);
    return { kind: "refused", why: said.success ? said.data.message : JSON.stringify(error) };
  }
  const parsed = mcpResultSchema.safeParse(result);
  if (parsed.success) return { kind: "result", result: withoutDoubt(parsed.data) };
  const why = parsed.error.issues
    .map(({ path, message }) => `${["result", ...path].join(".")}: ${message}`)
    .join("; ");
  return { kind: "broken", why, answer: result ?? message };
}

/** A result with content says whether it is a failure: what is not told is none. */
function withoutDoubt(result: McpResult): McpResult {
  const { content, structuredContent, isError } = result;
  if (!isGiven(content) && !isGiven(structuredContent)) return result;
  return { ...result, isError: isError ?? false };
}
