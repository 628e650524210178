/**
 * A model that improvises: what it says is made from the prompt alone, so it says the same in
 * every process, and continues sensibly from whatever a crash has left. It streams text and
 * reasoning in many deltas, calls several tools at once (also wrongly), and uses the same call ids
 * in every step, as some providers do. After some rounds of tools it ends the turn.
 */

import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { APICallError } from "ai";
import { CUT_OFF_NOTE } from "../../src/projections/index.ts";
import { scriptedModel, type ScriptedModel, type ScriptedPart } from "../../src/models/index.ts";
import { seededRandom, type Random } from "./random.ts";

export interface ImprovisedModelOptions {
  /** Tools that it may call. Each takes `{ key: string }`, and no key is used twice. */
  readonly tools: readonly [string, ...string[]];
  /** Those of them that take `{ task: string }`: sub-agents. */
  readonly agents?: readonly string[];
  /** Called with each call before the model answers. */
  readonly onCall?: (options: LanguageModelV4CallOptions) => void;
  /** Rounds of tools in a turn, at most. Default 3. */
  readonly rounds?: number;
}

/** Words that are hard to keep: quotes, line ends, separators, and two halves of one character. */
const words = [
  "and ",
  "then ",
  '"quoted" ',
  "\\ ",
  "\n",
  "\u2028",
  "naïve ",
  "漢字 ",
  "\ud83d",
  "\ude00 ",
  "\u0000",
  "a longer run of words ",
] as const;

export function improvisedModel(options: ImprovisedModelOptions): ScriptedModel {
  const { tools, agents = [], onCall, rounds = 3 } = options;
  const refused = new Map<string, number>();
  return scriptedModel((call) => {
    onCall?.(call);
    const seed = JSON.stringify(call.prompt);
    const random = seededRandom(seed);
    const had = refused.get(seed) ?? 0;
    if (random.chance(0.1) && had < (seededRandom(`${seed} refused`).chance(0.5) ? 2 : 1)) {
      refused.set(seed, had + 1);
      return { failure: overloaded() };
    }
    const parts: ScriptedPart[] = [];
    if (random.chance(0.6)) parts.push(reasoning(random));
    if (random.chance(0.8)) parts.push(text(random));
    if (roundsSinceInput(call.prompt) < rounds && random.chance(0.75)) {
      const name = random.below(2 ** 32).toString(36);
      const calls = 1 + random.below(3);
      for (let index = 0; index < calls; index++) {
        parts.push(toolCall(random, { tools, agents }, index, `${name}-${index}`));
      }
    } else {
      parts.push(text(random));
    }
    return { parts };
  });
}

function overloaded(): APICallError {
  return new APICallError({
    message: "Overloaded, as a provider says",
    url: "https://provider.invalid",
    requestBodyValues: {},
    statusCode: 529,
    isRetryable: true,
    responseHeaders: { "retry-after-ms": "1" },
  });
}

function deltas(random: Random): string[] {
  return Array.from({ length: 1 + random.below(24) }, () => random.pick(words));
}

function text(random: Random): ScriptedPart {
  return { type: "text", deltas: ["Well, ", ...deltas(random)] };
}

function reasoning(random: Random): ScriptedPart {
  const signature = random.below(2 ** 32).toString(36);
  return {
    type: "reasoning",
    deltas: deltas(random),
    providerMetadata: { turnlog: { signature } },
  };
}

function toolCall(
  random: Random,
  { tools, agents }: Required<Pick<ImprovisedModelOptions, "tools" | "agents">>,
  index: number,
  key: string,
): ScriptedPart {
  // Two calls of a reply have one id.
  const call = { type: "tool-call", toolCallId: `call-${Math.floor(index / 2)}` } as const;
  if (random.chance(0.05)) return { ...call, toolName: "absent", input: { key } };
  if (random.chance(0.05)) return { ...call, toolName: tools[0], input: "{ not JSON" };
  const toolName = random.pick(tools);
  const input = JSON.stringify(agents.includes(toolName) ? { task: key } : { key });
  const cut = random.below(input.length);
  return {
    ...call,
    toolName,
    input,
    deltas: [input.slice(0, cut), input.slice(cut)],
  };
}

/** How often tools have answered since a user last said something. */
function roundsSinceInput(prompt: LanguageModelV4Prompt): number {
  const input = prompt.findLastIndex(
    (message) => message.role === "user" && !JSON.stringify(message).includes(noteStart),
  );
  return prompt.slice(input + 1).filter((message) => message.role === "tool").length;
}

const noteStart = CUT_OFF_NOTE.slice(0, 30);
