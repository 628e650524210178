/**
 * The digest of a prompt, by which it can be proved later what a step was given: a chain of SHA-256
 * over its messages. Each message and each link are hashed once, so that a digest costs what is new.
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

/** The chain up to a message; made again when something else comes before it. */
interface Link {
  readonly before: string;
  readonly digest: string;
}

const linked = new WeakMap<ModelMessage, Link>();

function link(before: string, message: ModelMessage): string {
  const known = linked.get(message);
  if (known?.before === before) return known.digest;
  const digest = hash("sha256", before + measure(message).digest);
  linked.set(message, { before, digest });
  return digest;
}

/** Hexadecimal SHA-256 over the agent's digest (instructions, tools) and every message, in order. */
export function promptDigest(agentDigest: string, messages: readonly ModelMessage[]): string {
  return messages.reduce(link, agentDigest);
}

/** Characters of all messages as JSON. */
export function promptCharacters(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + measure(message).characters, 0);
}
