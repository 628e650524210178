/** The rules that find secrets in texts: by form, by the names beside them, and by randomness. */

import type { SecretRule } from "./found.ts";
import { keptRules } from "./kept-rules.ts";
import { keyBlocks } from "./key-blocks.ts";
import { likelySecrets } from "./likely-secrets.ts";
import { namedValues, spelledOut } from "./named-values.ts";
import { jsonWebTokens, tokenShapes } from "./token-shapes.ts";

/** In this order: what several find is of the first. */
export async function secretRules(): Promise<readonly SecretRule[]> {
  const kept = await keptRules();
  return [keyBlocks, tokenShapes, jsonWebTokens, ...spelledOut, namedValues, kept, likelySecrets];
}
