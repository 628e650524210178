/**
 * The digest of a prompt, by which it can be proved later what a step was given: a chain of SHA-256
 * over its messages. Each message and each link are hashed once, so that a digest costs what is new.
 */

import { hash } from "node:crypto";
import type { ModelMessage } from "ai";

/** The chain up to a message; the first link has none and begins with the agent's digest. */
interface Link {
  readonly message: ModelMessage | undefined;
  readonly before: Link | undefined;
  readonly digest: string;
}

const digests = new WeakMap<ModelMessage, string>();

function digestOf(message: ModelMessage): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const digest = hash("sha256", JSON.stringify(message));
  digests.set(message, digest);
  return digest;
}

/** The newest chain that ends with a message; another takes its place when something else comes before it. */
const ends = new WeakMap<ModelMessage, Link>();

/** Whether a chain is over exactly the first `count` messages: a comparison each, nothing is looked up. */
function isOver(
  chain: Link,
  agentDigest: string,
  messages: readonly ModelMessage[],
  count: number,
): boolean {
  let link: Link | undefined = chain;
  for (let at = count - 1; at >= 0; at--) {
    if (link?.message !== messages[at]) return false;
    link = link?.before;
  }
  return link?.message === undefined && link?.digest === agentDigest;
}

/** The chain of the prompt before, when this one only adds to it; else an empty one. */
function beginning(
  agentDigest: string,
  messages: readonly ModelMessage[],
): readonly [Link, number] {
  const at = messages.findLastIndex((message) => ends.has(message));
  const message = messages[at];
  const chain = message === undefined ? undefined : ends.get(message);
  return chain !== undefined && isOver(chain, agentDigest, messages, at + 1)
    ? [chain, at + 1]
    : [{ message: undefined, before: undefined, digest: agentDigest }, 0];
}

function extended(before: Link, message: ModelMessage): Link {
  const known = ends.get(message);
  if (known?.before?.digest === before.digest && known.before.message === before.message) {
    return known;
  }
  const digest = hash("sha256", before.digest + digestOf(message));
  const link: Link = { message, before, digest };
  ends.set(message, link);
  return link;
}

/** Hexadecimal SHA-256 over the agent's digest (instructions, tools) and every message, in order. */
export function promptDigest(agentDigest: string, messages: readonly ModelMessage[]): string {
  const [start, count] = beginning(agentDigest, messages);
  return messages.slice(count).reduce(extended, start).digest;
}
