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

const digests = new WeakMap<ModelMessage, string>();

export function digestOf(message: ModelMessage): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const digest = hash("sha256", JSON.stringify(message));
  digests.set(message, digest);
  return digest;
}

/** The prompt whose digest was asked for last. The lists change with the next one, which mostly goes on behind it. */
interface Digested {
  agentDigest: string;
  readonly messages: ModelMessage[];
  /** The chain up to each message. */
  readonly chain: string[];
}

const lastDigested = new WeakMap<ModelMessage, Digested>();

/** Hexadecimal SHA-256 over the agent's digest (instructions, tools) and every message, in order. */
export function promptDigest(agentDigest: string, prompt: readonly ModelMessage[]): string {
  const [first] = prompt;
  if (first === undefined) return agentDigest;
  const digested = lastDigested.get(first) ?? { agentDigest, messages: [], chain: [] };
  lastDigested.set(first, digested);
  const { messages, chain } = digested;
  const differs = messages.findIndex((message, index) => message !== prompt[index]);
  const same =
    digested.agentDigest !== agentDigest ? 0 : differs === -1 ? messages.length : differs;
  digested.agentDigest = agentDigest;
  messages.length = same;
  chain.length = same;
  for (const message of prompt.slice(same)) {
    messages.push(message);
    chain.push(hash("sha256", (chain.at(-1) ?? agentDigest) + digestOf(message)));
  }
  return chain.at(-1) ?? agentDigest;
}

/** The digest of the prompt that a step would send here, under the agent of its `prepareStep`. */
export function nextDigest(
  { history, view }: { readonly history: HistoryState; readonly view: ContextView },
  { agentDigest }: Pick<SessionSummary, "agentDigest">,
): string {
  const digest = view.prepared?.agentDigest ?? agentDigest ?? "";
  return promptDigest(digest, promptMessages(history, view));
}
