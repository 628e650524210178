/** The whole prompt of a step, as far as the log has it: messages, instructions, tools, settings, and its digest. Pure. */

import type { ModelMessage } from "ai";
import {
  byId,
  commonLength,
  defined,
  REDACTED,
  type JsonObject,
  type JsonValue,
} from "../events/index.ts";
import { sentNames } from "../folds/index.ts";
import type { ContextView } from "./context-view.ts";
import type { HistoryState } from "./history-item.ts";
import { promptMessages } from "./prompt.ts";
import { standingText, textDigest, type StandingState } from "./standing.ts";
import { hash } from "node:crypto";
import type { SessionSummary } from "./session-summary.ts";

/** A text of a prompt. Of an earlier release, the log has the digest alone, or nothing. */
export interface PromptText {
  readonly digest?: string;
  readonly text?: string;
}

/** `text`: `{ name, description, inputSchema }` as JSON. */
export interface PromptTool extends PromptText {
  readonly name: string;
}

/**
 * Everything that a step sends.
 * @example
 * const { instructions, tools, messages } = (await session.view()).prompt;
 */
export interface SentPrompt {
  /** System messages with options for the provider are JSON. */
  readonly instructions: PromptText;
  /** In the order of the request. A deferred tool is sent once a search has found it. */
  readonly tools: readonly PromptTool[];
  /** `temperature`, `toolChoice`, `providerOptions`, …; absent if the log, as of an earlier release, has none. */
  readonly settings?: JsonObject;
  readonly messages: readonly ModelMessage[];
}

/** What a prompt has besides its messages. */
export type StandingPrompt = Omit<SentPrompt, "messages">;

interface Source {
  readonly standing: StandingState;
  readonly history: HistoryState;
  readonly view: ContextView;
}

export function sentPrompt({ history, view, standing }: Source): SentPrompt {
  return { ...standingPrompt({ view, standing }), messages: promptMessages(history, view) };
}

export function standingPrompt({ view, standing }: Omit<Source, "history">): StandingPrompt {
  const { overrides = {}, parts = standing.agent?.parts } = view.prepared ?? {};
  const names = parts === undefined ? (standing.agent?.tools ?? []) : Object.keys(parts.tools);
  const textOf = (digest: string | undefined): PromptText =>
    digest === undefined ? {} : { digest, ...defined({ text: standingText(standing, digest) }) };
  return {
    instructions:
      preparedInstructions(view) ?? textOf(view.instructionsDigest ?? parts?.instructions),
    tools: sentNames(names, overrides).map((name) => ({
      name,
      ...textOf(parts === undefined ? undefined : byId(parts.tools, name)),
    })),
    ...(isRecorded(standing) ? { settings: standing.settings ?? {} } : {}),
  };
}

/** Of a log of an earlier release, or in the form of system messages. */
function preparedInstructions({ instructions }: ContextView): PromptText | undefined {
  if (instructions === undefined) return undefined;
  const text = typeof instructions === "string" ? instructions : JSON.stringify(instructions);
  return { digest: textDigest(text), text };
}

/** Earlier releases recorded neither texts nor settings. */
function isRecorded({ texts, settings }: StandingState): boolean {
  return settings !== undefined || Object.keys(texts).length > 0;
}

/** The instructions that `prepareStep` or `prepareCall` gave the turn; undefined for the agent's own. */
export function turnInstructions({
  view,
  standing,
}: Omit<Source, "history">): JsonValue | undefined {
  if (view.instructions !== undefined || view.instructionsDigest === undefined)
    return view.instructions;
  const text = standingText(standing, view.instructionsDigest);
  return text === REDACTED ? undefined : text;
}

// The digest of a prompt, which proves later what a step sent: a chain of SHA-256 over its messages. Only new
// messages cost time.

const digests = new WeakMap<ModelMessage, string>();

export function digestOf(message: ModelMessage): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const digest = hash("sha256", JSON.stringify(message));
  digests.set(message, digest);
  return digest;
}

/** The prompt whose digest was asked for last. The lists change with the next one, which is mostly longer by a few. */
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
  const same = digested.agentDigest === agentDigest ? commonLength(messages, prompt) : 0;
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
