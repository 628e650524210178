/** The body that a provider is posted at a position of a session, by the path of a live step up to its client. */

import { tool, type ModelMessage, type Tool, type ToolSet } from "ai";
import { anthropic } from "@ai-sdk/anthropic";
import { z } from "zod";
import type { Agent, StepSource } from "../../src/agent/index.ts";
import { SessionBlobs } from "../../src/media/index.ts";
import { bindingOf, promptMessages, withBinding } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import { clientOf } from "./clients.ts";
import { providers, type ProviderName } from "./providers.ts";
import type { Breach } from "./rule.ts";

/** A place in a session from which a request is made. */
export interface Place {
  readonly session: string;
  readonly position: number;
  readonly state: Pick<SessionState, "history" | "view" | "blobs">;
  /** Whether a step begins there; elsewhere no request is sent, and what comes last is not judged. */
  readonly isSent: boolean;
}

// Loaded as the runtime loads them: only the one that a session uses.
const { languageModelCall } = await import("../../src/runtime/model/language-model-call.ts");
const { streamTextCall } = await import("../../src/runtime/model/stream-text.ts");

export const sources: readonly StepSource[] = [languageModelCall, streamTextCall];

/** Claude thinks, and OpenAI stores what it says; or neither. */
const settings: readonly NonNullable<Agent["providerOptions"]>[] = [
  {
    anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
    bedrock: { reasoningConfig: { type: "enabled", budgetTokens: 1024 } },
  },
  { openai: { store: false } },
];

const look: Tool = tool({
  description: "Looks at something.",
  inputSchema: z.object({ at: z.string().optional() }),
  execute: () => "seen",
});

/** Of Claude; other clients leave it out with a warning. */
const search = anthropic.tools.webSearch_20250305();

export interface AgentParts {
  /** Which of the settings of the providers are given. Default: Claude thinks. */
  readonly setting?: number;
  readonly instructions?: Agent["instructions"];
  readonly tools?: ToolSet;
}

/** Tells a caught request from one that could not be made. */
class Caught extends Error {}

/** Undefined where there is nothing to send. @throws Error if the client posts nothing all the same */
async function postedBody(
  { session, position, state }: Place,
  provider: ProviderName,
  source: StepSource,
  {
    instructions = "Be brief.",
    tools = { look, web_search: search },
    setting = 0,
  }: AgentParts = {},
): Promise<unknown> {
  const bodies: string[] = [];
  const model = clientOf(provider, "http://127.0.0.1:9", {
    fetch: async (_, init) => {
      bodies.push(typeof init?.body === "string" ? init.body : "");
      throw new Caught("The request was caught.");
    },
  });
  const name = { provider: model.provider, modelId: model.modelId };
  const providerOptions = settings[setting % settings.length] ?? {};
  const agent: Agent = { model, instructions, tools, maxRetries: 0, providerOptions };
  const blobs = new SessionBlobs({
    session,
    store: undefined,
    isKept: false,
    limits: {},
    media: undefined,
    model: name,
    known: () => state.blobs,
    onWarning: (error) => {
      throw error;
    },
  });
  const view = withBinding(state.view, position, bindingOf(name));
  const given: readonly ModelMessage[] = promptMessages(state.history, view);
  const { signal } = new AbortController();
  const caching = { ttl: setting % 3 === 2 ? "1h" : "5m", key: session, pays: true } as const;
  const messages = await blobs.expand(given, signal);
  // Before anything was said, or when all is left out, there is no step.
  if (messages.length === 0) return undefined;
  let failure: unknown;
  for await (const output of source.call({ agent, messages, signal, caching })) {
    if (output.kind === "part" && output.part.type === "part.error") failure = output.part.data;
  }
  const [body] = bodies;
  if (body === undefined) throw new Error(JSON.stringify(failure));
  return JSON.parse(body);
}

/** Rules for what comes last: they hold where a request is sent. */
const forTheEnd = new Set(["input-last", "mistral-last"]);

/** The breaches of a provider's rules, each with its session and position. */
export async function breachesAt(
  place: Place,
  provider: ProviderName,
  source: StepSource,
  parts?: AgentParts,
): Promise<readonly string[]> {
  const say = (rule: string, words: string): string =>
    `${provider} ${rule}, ${source.name}, session ${place.session}, position ${place.position}: ${words}`;
  let found: readonly Breach[];
  try {
    const body = await postedBody(place, provider, source, parts);
    found = body === undefined ? [] : providers[provider].rulebook.breaches(body);
  } catch (error) {
    return [say("no request", error instanceof Error ? error.message : String(error))];
  }
  return found
    .filter(({ rule }) => place.isSent || !forTheEnd.has(rule))
    .map(({ rule, words }) => say(rule, words));
}
