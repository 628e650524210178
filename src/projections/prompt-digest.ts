/**
 * The digest of a prompt, which proves later what a step sent: a chain of SHA-256 over its messages. Only new
 * messages cost time.
 */

import { hash } from "node:crypto";
import type { ModelMessage } from "ai";
import type { ContextView } from "./context-view.ts";
import type { HistoryState } from "./history-item.ts";
import { promptMessages } from "./prompt.ts";
import type { SessionSummary } from "./session-summary.ts";

/** The chain up to a message. The first link has no message and the agent's digest. */
interface Link {
  readonly message: ModelMessage | undefined;
  readonly before: Link | undefined;
  readonly digest: string;
}

const digests = new WeakMap<ModelMessage, string>();

export function digestOf(message: ModelMessage): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const digest = hash("sha256", JSON.stringify(message));
  digests.set(message, digest);
  return digest;
}

/** The newest chain that ends with each message. */
const ends = new WeakMap<ModelMessage, Link>();

function isOver(
  chain: Link,
  agentDigest: string,
  messages: readonly ModelMessage[],
  count: number,
): boolean {
  let link: Link | undefined = chain;
  for (let index = count - 1; index >= 0; index--) {
    if (link?.message !== messages[index]) return false;
    link = link?.before;
  }
  return link?.message === undefined && link?.digest === agentDigest;
}

/** The longest known chain that this prompt extends, and its length. */
function beginning(
  agentDigest: string,
  messages: readonly ModelMessage[],
): readonly [Link, number] {
  const last = messages.findLastIndex((message) => ends.has(message));
  const message = messages[last];
  const chain = message === undefined ? undefined : ends.get(message);
  return chain !== undefined && isOver(chain, agentDigest, messages, last + 1)
    ? [chain, last + 1]
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

/** The digest of the prompt that a step would send here, under the agent of its `prepareStep`. */
export function nextDigest(
  { history, view }: { readonly history: HistoryState; readonly view: ContextView },
  { agentDigest }: Pick<SessionSummary, "agentDigest">,
): string {
  const digest = view.prepared?.agentDigest ?? agentDigest ?? "";
  return promptDigest(digest, promptMessages(history, view));
}
