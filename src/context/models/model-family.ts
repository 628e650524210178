/**
 * The figures that estimates depend on, by family of models. Pure tables; the rest is learned from the log
 * (`calibration`).
 */

import type { ModelName } from "../../events/index.ts";

type FamilyName =
  | "openai"
  | "anthropic"
  | "google"
  | "xai"
  | "deepseek"
  | "zai"
  | "mistral"
  | "other";

export interface ModelFamily {
  readonly name: FamilyName;
  /** Tokens around a message: role, separators. */
  readonly perMessage: number;
  /** Tokens around one tool result. */
  readonly perResult: number;
  /** Tokens that open the reply, where they are billed with its prompt. */
  readonly perReply: number;
  /** Whether the ids of parallel calls count as tokens. The id of a single call does not. */
  readonly readsCallIds: boolean;
  /** Tokens that every prompt has besides its texts: a hidden preamble, the beginning of the reply. */
  readonly perPrompt: number;
  /** Tokens around instructions. */
  readonly perInstructions: number;
  readonly tools: ToolsRule;
  readonly reasoning: ReasoningRule;
}

/** What a prompt with tools has besides their definitions. */
export interface ToolsRule {
  /** Tokens of the provider's own preamble about tools. */
  readonly preamble: number;
  /** The same where the model has to call a tool. Default: `preamble`. */
  readonly forced?: number;
  /** Tokens around each definition. */
  readonly each: number;
  /** How definitions are written: as sent, without the keywords that Gemini's schemas lack, or as types. */
  readonly form: "json" | "openapi" | "typescript";
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

/** The figures where nothing else is known. */
const usual: ModelFamily = {
  name: "other",
  perMessage: 4,
  perResult: 8,
  perReply: 0,
  readsCallIds: false,
  perPrompt: 0,
  perInstructions: 0,
  tools: { preamble: 0, each: 0, form: "json" },
  reasoning: { inTurn: "shown", afterTurn: "all" },
};

/** The figures that differ from that, or have a source. */
const families: Readonly<Record<FamilyName, ModelFamily>> = {
  // Chat format: <|im_start|>role<|im_sep|>…<|im_end|>. "How to count tokens with tiktoken", cookbook.openai.com:
  // three tokens begin the reply.
  openai: {
    ...usual,
    name: "openai",
    perResult: 2,
    perReply: 3,
    perPrompt: 3,
    perInstructions: 4,
    tools: { preamble: 0, each: 0, form: "typescript" },
    reasoning: { inTurn: "shown", afterTurn: "none" },
  },
  // Results are blocks that name the id of their call.
  anthropic: {
    ...usual,
    name: "anthropic",
    perMessage: 3,
    perResult: 9,
    readsCallIds: true,
    perPrompt: 2,
    // "Tool use", platform.claude.com, of Opus 4.8: Opus 5 and Sonnet 5.5 are billed the same.
    tools: { preamble: 290, forced: 410, each: 9, form: "json" },
    // "Extended thinking", platform.claude.com: kept since Opus 4.5 and Sonnet 4.6, by no Haiku.
    reasoning: { inTurn: "shown", afterTurn: "all" },
  },
  google: {
    ...usual,
    name: "google",
    perMessage: 0,
    perResult: 15,
    tools: { preamble: 0, each: 0, form: "openapi" },
    // "Thought signatures", ai.google.dev: since 3.5, thoughts of all turns are used and billed.
    reasoning: { inTurn: "signed", afterTurn: "all" },
  },
  // All of it from bills of recorded chats.
  xai: {
    ...usual,
    name: "xai",
    tools: { preamble: 150, each: 12, form: "json" },
    // Grok 4 bills hidden reasoning of the running turn, sent or not.
    reasoning: { inTurn: "all", afterTurn: "none" },
  },
  deepseek: {
    ...usual,
    name: "deepseek",
    perResult: 11,
    // Bills of V3.2 and V4.
    tools: { preamble: 240, each: 4, form: "json" },
    // The AI SDK's client sends V4 the reasoning of all turns.
    reasoning: { inTurn: "shown", afterTurn: "all" },
  },
  zai: {
    ...usual,
    name: "zai",
    perPrompt: 1,
    // The text about tools in its published chat template, and bills.
    tools: { preamble: 104, each: 0, form: "json" },
    // "Thinking mode", docs.z.ai: `clear_thinking` is on by default.
    reasoning: { inTurn: "shown", afterTurn: "none" },
  },
  mistral: {
    ...usual,
    name: "mistral",
    // Bills of one tool each, which do not tell one from the other.
    tools: { preamble: 20, each: 18, form: "json" },
  },
  other: usual,
};

const mistralModels = /mistral|ministral|mixtral|codestral|devstral|magistral|pixtral/i;

// By the model first: a gateway serves models of many makers.
const byModel: readonly (readonly [RegExp, FamilyName])[] = [
  [/claude/i, "anthropic"],
  [/gemini|gemma/i, "google"],
  [/(^|[/:.])grok/i, "xai"],
  [/deepseek/i, "deepseek"],
  [/(^|[/:.-])glm-/i, "zai"],
  [mistralModels, "mistral"],
  [/(^|[/:.])(gpt|chatgpt|codex|o\d)\b/i, "openai"],
];

const byProvider: readonly (readonly [RegExp, FamilyName])[] = [
  [/^anthropic/i, "anthropic"],
  [/^google/i, "google"],
  [/^xai/i, "xai"],
  [/^deepseek/i, "deepseek"],
  [/^(zai|zhipu)/i, "zai"],
  [mistralModels, "mistral"],
  [/^(openai|azure)/i, "openai"],
];

/** The tools of Claude whose preamble is that of its documented table, in both modes. */
function claudeTools(preamble: number, forced: number): Partial<ModelFamily> {
  return { tools: { preamble, forced, each: 9, form: "json" } };
}

const dropped: ReasoningRule = { inTurn: "shown", afterTurn: "none" };

/** Generations that differ from their family. All that match count, the later before the earlier. */
const generations: readonly (readonly [FamilyName, RegExp, Partial<ModelFamily>])[] = [
  [
    "anthropic",
    /claude-(2|3|instant)|haiku|opus-4([-.@][01])?(?![-.]?\d(?!\d{7}))|sonnet-4([-.][0-5])?(?![-.]?\d(?!\d{7}))/i,
    { reasoning: dropped },
  ],
  // "Tool use", platform.claude.com/docs/en/agents-and-tools/tool-use/overview#pricing.
  ["anthropic", /claude-3/i, claudeTools(346, 313)],
  ["anthropic", /3[-.]5-haiku|claude-3-haiku/i, claudeTools(264, 340)],
  ["anthropic", /(opus|sonnet)-4/i, claudeTools(313, 315)],
  ["anthropic", /(opus|sonnet|haiku)-4[-.][56]/i, claudeTools(496, 588)],
  ["anthropic", /opus-4[-.]7/i, claudeTools(675, 804)],
  ["anthropic", /opus-4[-.]8/i, claudeTools(290, 410)],
  ["anthropic", /sonnet-5(?![-.]\d(?!\d{7}))/i, claudeTools(354, 474)],
  // Bills of recorded chats: Gemini 2.5 bills no hidden thoughts again, Gemini 3 those of the running turn.
  ["google", /gemini-[12]/i, { reasoning: { inTurn: "text", afterTurn: "text" } }],
  ["google", /gemini-3(?!\.?[5-9])/i, { reasoning: { inTurn: "signed", afterTurn: "text" } }],
  // It shows its reasoning, and the client sends none back.
  [
    "xai",
    /grok-[23](?!\d)/i,
    {
      tools: { preamble: 200, each: 12, form: "json" },
      reasoning: { inTurn: "none", afterTurn: "none" },
    },
  ],
  [
    "xai",
    /grok-4(?![.]?[2-9])/i,
    { perPrompt: 165, tools: { preamble: 108, each: 12, form: "json" } },
  ],
  // The client sends these models the reasoning of the running turn only.
  ["deepseek", /deepseek-(chat|reasoner|r1|v3)/i, { reasoning: dropped }],
  ["deepseek", /v3[-.]1/i, { tools: { preamble: 95, each: 6, form: "json" } }],
  [
    "openai",
    /gpt-5(-mini|-nano)?($|-20)/i,
    { tools: { preamble: 84, each: 0, form: "typescript" } },
  ],
  // The system message of its published chat format, and what that says with tools.
  ["openai", /gpt-oss/i, { perPrompt: 70, tools: { preamble: 20, each: 0, form: "typescript" } }],
];

const known = new WeakMap<ModelName, ModelFamily>();

/** Found once for each object: a prompt asks for each of its calls. */
export function modelFamily(model: ModelName): ModelFamily {
  const before = known.get(model);
  if (before !== undefined) return before;
  const family = familyOf(model);
  known.set(model, family);
  return family;
}

function familyOf({ provider, modelId }: ModelName): ModelFamily {
  const found =
    byModel.find(([pattern]) => pattern.test(modelId)) ??
    byProvider.find(([pattern]) => pattern.test(provider));
  const family = families[found?.[1] ?? "other"];
  const own = generations.filter(([name, models]) => name === family.name && models.test(modelId));
  return own.reduce((all, [, , more]) => ({ ...all, ...more }), family);
}

// How providers cache the beginning of a prompt, by family of models. A pure table with its sources.

/** How long Anthropic keeps what was marked, in its own words, and what the writes cost. Reads cost a tenth. */
export type CacheLifetime = "5m" | "1h";

export const MARKED: Readonly<
  Record<CacheLifetime, { readonly ms: number; readonly write: number }>
> = {
  "5m": { ms: 300_000, write: 1.25 },
  "1h": { ms: 3_600_000, write: 2 },
};

/** What is read of the beginning that a prompt shares with an earlier one. */
export interface CacheReads {
  /** What is read grows by so many tokens. */
  readonly unit: number;
  /** Tokens of the shortest beginning that is kept. */
  readonly least: number;
  /** Where a prompt was cut for the cache: after any token, or at the marks of the request only. */
  readonly at: "tokens" | "marks";
  /** Whether the reply is kept with its prompt. */
  readonly replies: boolean;
}

interface CacheRule {
  /** Milliseconds after the last use. */
  readonly lifetimeMs: number;
  /** Absent if the provider publishes none. */
  readonly reads?: CacheReads;
}

const unknown: CacheRule = { lifetimeMs: 300_000 };

function reads(unit: number, least: number, more: Partial<CacheReads> = {}): CacheReads {
  return { unit, least, at: "tokens", replies: false, ...more };
}

/** All compare tools, then instructions, then messages. */
const rules = {
  // https://platform.claude.com/docs/en/build-with-claude/prompt-caching
  anthropic: { lifetimeMs: MARKED["5m"].ms, reads: reads(1, 1024, { at: "marks" }) },
  // https://platform.openai.com/docs/guides/prompt-caching: 5 to 10 minutes.
  openai: { lifetimeMs: 600_000, reads: reads(128, 1024) },
  // https://ai.google.dev/gemini-api/docs/caching: minutes, not promised.
  google: { lifetimeMs: 300_000, reads: reads(1, 1024) },
  // https://api-docs.deepseek.com/guides/kv_cache: hours. Bills show that replies are kept.
  deepseek: { lifetimeMs: 7_200_000, reads: reads(64, 64, { replies: true }) },
  xai: unknown,
  zai: unknown,
  mistral: unknown,
  other: unknown,
} as const satisfies Record<string, CacheRule>;

/** The least beginnings that differ from their family's. The first that matches counts. */
const leasts: readonly (readonly [RegExp, number])[] = [
  [/opus-4-[567]|haiku-4-5/, 4096],
  [/haiku/, 2048],
  [/gemini-3/, 4096],
  [/gemini.*pro/, 2048],
];

export const SHORTEST_LIFETIME_MS: number = Math.min(
  ...Object.values(rules).map(({ lifetimeMs }) => lifetimeMs),
);

export function cacheRule(model: ModelName): CacheRule {
  const rule: CacheRule = rules[modelFamily(model).name];
  const least = leasts.find(([models]) => models.test(model.modelId))?.[1];
  if (rule.reads === undefined || least === undefined) return rule;
  return { ...rule, reads: { ...rule.reads, least } };
}
