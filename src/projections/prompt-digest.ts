/**
 * The digest of a prompt, by which it can be proved later what a step was given: SHA-256 over the
 * digests of its pieces. Each message is hashed once and remembered with it.
 */

import { hash } from "node:crypto";
import type { ModelMessage } from "ai";

interface Measure {
  readonly digest: string;
  /** Characters of the message as JSON: what the token estimate is made from. */
  readonly characters: number;
}

const measured = new WeakMap<ModelMessage, Measure>();

function measure(message: ModelMessage): Measure {
  const known = measured.get(message);
  if (known !== undefined) return known;
  const json = JSON.stringify(message);
  const result = { digest: hash("sha256", json), characters: json.length };
  measured.set(message, result);
  return result;
}

/** Hexadecimal SHA-256 over the agent's digest (instructions, tools) and every message, in order. */
export function promptDigest(agentDigest: string, messages: readonly ModelMessage[]): string {
  return hash(
    "sha256",
    [agentDigest, ...messages.map((message) => measure(message).digest)].join(),
  );
}

/** Characters of all messages as JSON. */
export function promptCharacters(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + measure(message).characters, 0);
}
