/** What estimates depend on, by family of models. Pure tables; the rest is learned from the log (`calibration`). */

import type { ModelName } from "../events/index.ts";

type FamilyName = "openai" | "anthropic" | "google" | "xai" | "deepseek" | "zai" | "other";

export interface ModelFamily {
  readonly name: FamilyName;
  /** Tokens around a message: role, separators. */
  readonly perMessage: number;
  /** Tokens around one tool result. */
  readonly perResult: number;
  /** Tokens that open the reply, where they are billed with its prompt. Default 0. */
  readonly perReply?: number;
  /** Whether the ids of parallel calls count as tokens. The id of a single call does not. */
  readonly readsCallIds: boolean;
  readonly reasoning: ReasoningRule;
}

/** What prompts have of the reasoning in earlier replies, as the provider bills it. */
export interface ReasoningRule {
  /**
   * While its turn runs. `shown`: of replies with reasoning parts; `signed`: also of replies with a signature of
   * hidden reasoning; `all`: of every reply, since the provider keeps it; `text`: only the text of reasoning
   * parts; `none`: it is not sent.
   */
  readonly inTurn: "none" | "text" | "shown" | "signed" | "all";
  /** After its turn. `all`: the same; `text`: only the text of reasoning parts; `none`: it is dropped. */
  readonly afterTurn: "none" | "text" | "all";
}

const families: Readonly<Record<FamilyName, ModelFamily>> = {
  // Chat format: <|im_start|>role<|im_sep|>…<|im_end|>; a prompt ends with the first three of the reply.
  openai: {
    name: "openai",
    perMessage: 4,
    perResult: 2,
    perReply: 3,
    readsCallIds: false,
    reasoning: { inTurn: "shown", afterTurn: "none" },
  },
  // Results are blocks that name the id of their call.
  anthropic: {
    name: "anthropic",
    perMessage: 3,
    perResult: 9,
    readsCallIds: true,
    // "Extended thinking", platform.claude.com: kept since Opus 4.5 and Sonnet 4.6, by no Haiku.
    reasoning: { inTurn: "shown", afterTurn: "all" },
  },
  google: {
    name: "google",
    perMessage: 4,
    perResult: 8,
    readsCallIds: false,
    // "Thought signatures", ai.google.dev: since 3.5, thoughts of all turns are used and billed.
    reasoning: { inTurn: "signed", afterTurn: "all" },
  },
  xai: {
    name: "xai",
    perMessage: 4,
    perResult: 8,
    readsCallIds: false,
    // Bills of recorded chats: Grok 4 bills hidden reasoning of the running turn, sent or not.
    reasoning: { inTurn: "all", afterTurn: "none" },
  },
  deepseek: {
    name: "deepseek",
    perMessage: 4,
    perResult: 11,
    readsCallIds: false,
    // The AI SDK's client sends V4 the reasoning of all turns.
    reasoning: { inTurn: "shown", afterTurn: "all" },
  },
  zai: {
    name: "zai",
    perMessage: 4,
    perResult: 8,
    readsCallIds: false,
    // "Thinking mode", docs.z.ai: `clear_thinking` is on by default.
    reasoning: { inTurn: "shown", afterTurn: "none" },
  },
  other: {
    name: "other",
    perMessage: 4,
    perResult: 8,
    readsCallIds: false,
    reasoning: { inTurn: "shown", afterTurn: "all" },
  },
};

// By the model first: a gateway serves models of many makers.
const byModel: readonly (readonly [RegExp, FamilyName])[] = [
  [/claude/i, "anthropic"],
  [/gemini|gemma/i, "google"],
  [/(^|[/:.])grok/i, "xai"],
  [/deepseek/i, "deepseek"],
  [/(^|[/:.-])glm-/i, "zai"],
  [/(^|[/:.])(gpt|chatgpt|codex|o\d)\b/i, "openai"],
];

const byProvider: readonly (readonly [RegExp, FamilyName])[] = [
  [/^anthropic/i, "anthropic"],
  [/^google/i, "google"],
  [/^xai/i, "xai"],
  [/^deepseek/i, "deepseek"],
  [/^(zai|zhipu)/i, "zai"],
  [/^(openai|azure)/i, "openai"],
];

/** Generations whose reasoning is billed by another rule than their family's. */
const generations: readonly (readonly [FamilyName, RegExp, ReasoningRule])[] = [
  [
    "anthropic",
    /claude-(2|3|instant)|haiku|opus-4([-.@][01])?(?![-.]?\d(?!\d{7}))|sonnet-4([-.][0-5])?(?![-.]?\d(?!\d{7}))/i,
    { inTurn: "shown", afterTurn: "none" },
  ],
  // Bills of recorded chats: Gemini 2.5 bills no hidden thoughts again, Gemini 3 those of the running turn.
  ["google", /gemini-[12]/i, { inTurn: "text", afterTurn: "text" }],
  ["google", /gemini-3(?!\.?[5-9])/i, { inTurn: "signed", afterTurn: "text" }],
  // It shows its reasoning, and the client sends none back.
  ["xai", /grok-[23](?!\d)/i, { inTurn: "none", afterTurn: "none" }],
  // The client sends these models the reasoning of the running turn only.
  ["deepseek", /deepseek-(chat|reasoner|r1|v3)/i, { inTurn: "shown", afterTurn: "none" }],
];

export function modelFamily({ provider, modelId }: ModelName): ModelFamily {
  const found =
    byModel.find(([pattern]) => pattern.test(modelId)) ??
    byProvider.find(([pattern]) => pattern.test(provider));
  const family = families[found?.[1] ?? "other"];
  const own = generations.find(([name, models]) => name === family.name && models.test(modelId));
  return own === undefined ? family : { ...family, reasoning: own[2] };
}
