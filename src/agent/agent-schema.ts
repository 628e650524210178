/** The schema of an agent, as `createRuntime` and forks accept it. */

import { z } from "zod";
import type { LanguageModelCallOptions } from "ai";
import {
  cutSchema,
  pruneSchema,
  type LoopLimits,
  type MediaBudget,
  type ModelLimits,
  type ModelPrices,
} from "../context/index.ts";
import {
  amount,
  code,
  flag,
  implementation,
  list,
  milliseconds,
  name,
  named,
  off,
  oneOf,
  optionsOf,
  several,
  text,
  thing,
} from "../validation/index.ts";
import type { Agent, TimeLimits, ToolPolicy } from "./agent.ts";
import type { CompactionChoice, ContextOptions } from "./context-options.ts";
import { lifecycleFields } from "./lifecycle-schema.ts";
import { sdkSettings, type UnsupportedSetting } from "./sdk-settings.ts";
import { stopWhenSchema } from "./stop-conditions.ts";
import { outputSchema } from "./turn-output.ts";
import { toolSchema } from "./tool-schema.ts";
import { contextFields } from "./turn-context.ts";

function isModel(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "string" && value !== "";
  return "doStream" in value && typeof value.doStream === "function";
}

const model = thing("a model of the AI SDK, or the name of one", isModel);
const anything = z.unknown();

/** A compaction strategy, in the agent's settings or for one command. */
export const strategySchema: z.ZodType = implementation({ name, plan: code });

const limitsSchema = optionsOf<ModelLimits>(
  {
    contextWindow: amount,
    maxOutputTokens: amount,
    prices: optionsOf<ModelPrices>(
      { cacheRead: amount, cacheWrite: amount },
      { input: amount, output: amount },
    ),
    modalities: list,
    reasoning: flag,
    cacheLifetimeMs: milliseconds,
  },
  {},
);

const contextSchema = optionsOf<ContextOptions>(
  {
    prune: off(pruneSchema),
    cut: off(cutSchema),
    media: off(
      optionsOf<MediaBudget>({ requestBytes: anything, pictures: anything, types: list }, {}),
    ),
    compact: off(
      optionsOf<CompactionChoice>(
        {},
        { when: implementation({ name, limit: code }), how: strategySchema },
      ),
    ),
    limits: named(limitsSchema),
    catalogue: implementation({ limits: code, cost: code }),
    estimator: implementation({ name, text: code }),
    counter: implementation({ name, count: code }, { timeoutMs: milliseconds }),
  },
  {},
);

const settingsSchema = optionsOf<LanguageModelCallOptions>(
  {
    maxOutputTokens: anything,
    temperature: anything,
    topP: anything,
    topK: anything,
    presencePenalty: anything,
    frequencyPenalty: anything,
    stopSequences: list,
    seed: anything,
    reasoning: anything,
  },
  {},
);

const fields = {
  instructions: text,
  tools: named(toolSchema),
  maxSteps: several,
  stopWhen: stopWhenSchema,
  output: outputSchema,
  toolConcurrency: several,
  toolTimeoutMs: milliseconds,
  toolPolicies: named(
    optionsOf<ToolPolicy>(
      {
        timeoutMs: milliseconds,
        concurrency: several,
        idempotent: flag,
        onInterrupted: oneOf("report", "retry", "ask"),
      },
      {},
    ),
  ),
  needsApproval: code,
  maxAttempts: several,
  timeLimits: optionsOf<TimeLimits>(
    {
      firstTokenMs: milliseconds,
      betweenTokensMs: milliseconds,
      callMs: milliseconds,
      turnMs: milliseconds,
      lastStep: flag,
    },
    {},
  ),
  loopGuard: off(optionsOf<LoopLimits>({}, { calls: several, texts: several })),
  context: contextSchema,
  settings: settingsSchema,
  headers: named(text.optional()),
  providerOptions: named(implementation({})),
  repairToolCall: code,
  ...contextFields,
  ...lifecycleFields,
};
type KnownAgent = Omit<Agent, UnsupportedSetting>;

/** Whether a value is an instance of `ToolLoopAgent`. */
function isInstance(value: unknown): boolean {
  return typeof value === "object" && value !== null && "version" in value && "generate" in value;
}

const settings = thing(
  "the settings that `new ToolLoopAgent(settings)` takes (those of an instance are private)",
  (value) => !isInstance(value),
);

export const agentSchema: z.ZodType = settings.and(
  optionsOf<KnownAgent>(fields, { model }, { hints: sdkSettings }),
);
