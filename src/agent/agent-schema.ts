/** The schema of an agent, as `createRuntime` and forks accept it. */

import type {
  Instructions,
  LanguageModel,
  LanguageModelCallOptions,
  PrepareStepFunction,
  ToolChoice,
  ToolSet,
  TelemetryOptions,
} from "ai";
import { z } from "zod";
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
  report,
  several,
  text,
  thing,
} from "../validation/index.ts";
import type { LifecycleSettings } from "../telemetry/index.ts";
import type { Agent, PromptCaching, ToolPolicy } from "./agent.ts";
import type { Fallback } from "./fallback.ts";
import { failureKinds } from "../events/index.ts";
import { type AgentTimeout, type TimeLimits, stopWhenSchema } from "./agent-limits.ts";
import type { CompactionChoice, ContextOptions } from "./context-options.ts";
import { sdkSettings, type UnsupportedSetting } from "./call-settings.ts";
import { outputSchema } from "./turn-output.ts";
import { toolApprovalSchema } from "./tool-approval.ts";
import { contextFields } from "./turn-context.ts";

// The schema of an agent's tools: tools of the AI SDK with the settings that have an effect here.

type KeyOf<Union> = Union extends unknown ? keyof Union : never;
type ToolKey = Exclude<KeyOf<ToolSet[string]>, "inputSchema">;
type AnyTool = { readonly [Key in ToolKey]?: unknown } & { readonly inputSchema: unknown };

const anyTool = z.unknown();

export const schemaOfSdk: z.ZodType = thing(
  "a schema: of zod, another Standard Schema, or `jsonSchema({ … })` of the AI SDK",
  (value) =>
    typeof value === "function" ||
    (typeof value === "object" &&
      value !== null &&
      ("~standard" in value || ("jsonSchema" in value && "validate" in value))),
);

const hints: Readonly<Record<string, string>> = {
  parameters: "the AI SDK calls it `inputSchema` since version 5.",
};

/** Keys that begin with `_` are ignored: libraries use them privately, such as `_meta` of an MCP client. */
const toolSchema: z.ZodType = optionsOf<AnyTool>(
  {
    type: anyTool,
    id: anyTool,
    args: anyTool,
    isProviderExecuted: anyTool,
    supportsDeferredResults: anyTool,
    title: anyTool,
    description: thing(
      "a text or a function",
      (value) => typeof value === "string" || typeof value === "function",
    ),
    strict: flag,
    inputExamples: anyTool,
    providerOptions: anyTool,
    metadata: anyTool,
    deferLoading: flag,
    outputSchema: anyTool,
    contextSchema: schemaOfSdk,
    needsApproval: thing(
      "true, false or a function",
      (value) => typeof value === "boolean" || typeof value === "function",
    ),
    execute: code,
    onInputStart: code,
    onInputDelta: code,
    onInputAvailable: code,
    toModelOutput: code,
  },
  { inputSchema: schemaOfSdk },
  { hints, ignored: /^_/ },
);

const flags = implementation({});

const telemetry = optionsOf<TelemetryOptions>(
  {
    isEnabled: flag,
    recordInputs: flag,
    recordOutputs: flag,
    functionId: text,
    includeRuntimeContext: flags,
    includeToolsContext: flags,
    integrations: z.unknown(),
  },
  {},
);

const lifecycleFields: Readonly<Record<keyof LifecycleSettings, z.ZodType>> = {
  onStart: code,
  experimental_onStart: code,
  onStepStart: code,
  experimental_onStepStart: code,
  onLanguageModelCallStart: code,
  onLanguageModelCallEnd: code,
  onToolExecutionStart: code,
  onToolExecutionEnd: code,
  onStepEnd: code,
  onStepFinish: code,
  onStepError: code,
  onAbort: code,
  onEnd: code,
  onFinish: code,
  onError: code,
  telemetry,
  experimental_telemetry: telemetry,
};

function isModel(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "string" && value !== "";
  return "doStream" in value && typeof value.doStream === "function";
}

const systemMessage = z.looseObject({ role: z.literal("system"), content: z.string() });
const namesTool = z.strictObject({ type: z.literal("tool"), toolName: z.string() });

function isSystem(value: unknown): boolean {
  return [value].flat().every((one) => systemMessage.safeParse(one).success);
}

const model = thing("a model of the AI SDK, or the name of one", isModel);
const anything = z.unknown();

export const strategySchema: z.ZodType = implementation(
  { name, plan: code },
  { forgetsRequest: z.literal(true) },
);

const whenSchema = () =>
  implementation({ name }, { limit: code, due: code, atLimit: oneOf("compact", "warn") }).refine(
    (when) => typeof when === "object" && when !== null && ("limit" in when || "due" in when),
    "an object with a function `limit` or `due`",
  );

const limitsSchema = () =>
  optionsOf<ModelLimits>(
    {
      contextWindow: amount,
      maxOutputTokens: amount,
      prices: optionsOf<ModelPrices>(
        { cacheRead: amount, cacheWrite: amount },
        { input: amount, output: amount },
      ),
      cacheLifetimeMs: milliseconds,
    },
    {},
    {
      hints: {
        modalities: "the kinds of media that a model takes are `context.media.types`.",
        reasoning: "leave it out: it never had an effect.",
      },
    },
  );

export const contextSchema: z.ZodType = z.lazy(() =>
  optionsOf<ContextOptions>(
    {
      prune: off(pruneSchema),
      cut: off(cutSchema),
      media: off(
        optionsOf<MediaBudget>({ requestBytes: anything, pictures: anything, types: list }, {}),
      ),
      onRefusal: oneOf("reduce", "fail"),
      compact: off(optionsOf<CompactionChoice>({}, { when: whenSchema(), how: strategySchema })),
      limits: named(limitsSchema()),
      catalogue: implementation({ limits: code, cost: code }),
      estimator: implementation({ name, text: code }),
      counter: implementation({ name, count: code }, { timeoutMs: milliseconds }),
    },
    {},
  ),
);

const whole = (from: number): z.ZodType<number> =>
  thing(`a whole number from ${from} on`, (n) => Number.isSafeInteger(n) && Number(n) >= from);
const finite = thing("a number", Number.isFinite);

/** Providers know their ranges. */
const callFields: Readonly<Record<keyof LanguageModelCallOptions, z.ZodType>> = {
  maxOutputTokens: whole(1),
  temperature: finite,
  topP: finite,
  topK: finite,
  presencePenalty: finite,
  frequencyPenalty: finite,
  stopSequences: list,
  seed: thing("a whole number", Number.isSafeInteger),
  reasoning: text,
};
const names = thing(
  "a list of names of tools",
  (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
);

const fallbackSchema = z.unknown().superRefine((value, context) => {
  const kinds = z.array(z.enum(failureKinds), `a list of ${failureKinds.join(", ")}`);
  const conditional = optionsOf<Exclude<Fallback, LanguageModel>>({}, { model, when: kinds });
  const schema = thing("a list of models, or of `{ model, when }`", Array.isArray);
  report(schema, value, context, []);
  if (!Array.isArray(value)) return;
  for (const [index, one] of value.entries())
    report(isModel(one) ? model : conditional, one, context, [index]);
});

const cachingSchema = z.unknown().superRefine((value, context) => {
  const lifetime = optionsOf<Exclude<PromptCaching, string>>({}, { ttl: oneOf("5m", "1h") });
  const schema = typeof value === "object" ? lifetime : oneOf("auto", "off");
  report(schema, value, context, [], ", or `{ ttl }`");
});

const timeoutSchema = z.unknown().superRefine((value, context) => {
  const parts = optionsOf<Exclude<AgentTimeout, number>>(
    {
      totalMs: milliseconds,
      stepMs: milliseconds,
      firstChunkMs: milliseconds,
      chunkMs: milliseconds,
      toolMs: milliseconds,
      tools: named(milliseconds),
    },
    {},
  );
  const schema = typeof value === "object" ? parts : milliseconds;
  report(schema, value, context, [], ", or an object of limits");
});

export const instructionsSchema: z.ZodType<Instructions> = thing(
  "a text, or system messages",
  (value) => typeof value === "string" || isSystem(value),
);

export const toolChoiceSchema: z.ZodType<ToolChoice<ToolSet>> = thing(
  '"auto", "none", "required" or `{ type: "tool", toolName }`',
  (value) =>
    value === "auto" ||
    value === "none" ||
    value === "required" ||
    namesTool.safeParse(value).success,
);

const providerOptions = named(implementation({}));

export type StepChanges = NonNullable<Awaited<ReturnType<PrepareStepFunction<ToolSet>>>>;

export const stepChangesSchema: z.ZodType = optionsOf<Omit<StepChanges, "experimental_sandbox">>(
  {
    model,
    toolChoice: toolChoiceSchema,
    activeTools: names,
    toolOrder: names,
    instructions: instructionsSchema,
    system: instructionsSchema,
    messages: list,
    ...contextFields,
    providerOptions,
    ...callFields,
  },
  {},
  { hints: { experimental_sandbox: "let the tools close over a sandbox." } },
);

/** A function: most programs that import the package make an agent later, if at all. */
const fields = () => ({
  id: text,
  fallback: fallbackSchema,
  continueOn: oneOf("partial"),
  instructions: instructionsSchema,
  tools: named(toolSchema),
  activeTools: names,
  toolOrder: names,
  toolChoice: toolChoiceSchema,
  toolApproval: toolApprovalSchema,
  toolCallConcurrency: whole(1),
  experimental_refineToolInput: named(code),
  maxRetries: whole(0),
  timeout: timeoutSchema,
  maxSteps: several,
  stopWhen: stopWhenSchema,
  output: outputSchema,
  prepareStep: code,
  prepareCall: code,
  callOptionsSchema: schemaOfSdk,
  toolPolicies: named(
    optionsOf<ToolPolicy>(
      {
        concurrency: several,
        idempotent: flag,
        onInterrupted: oneOf("report", "retry", "ask"),
      },
      {},
    ),
  ),
  timeLimits: optionsOf<TimeLimits>(
    { callMs: milliseconds, retryDelayMs: milliseconds, lastStep: flag },
    {},
    {
      hints: {
        turnMs: "set `timeout: { totalMs }`.",
        firstTokenMs: "set `timeout: { firstChunkMs }`.",
        betweenTokensMs: "set `timeout: { chunkMs }`.",
      },
    },
  ),
  loopGuard: off(optionsOf<LoopLimits>({}, { calls: several, texts: several })),
  context: contextSchema,
  promptCache: cachingSchema,
  ...callFields,
  headers: named(text.optional()),
  providerOptions,
  repairToolCall: code,
  ...contextFields,
  ...lifecycleFields,
});

/** Settings of the first release, each with its present name. */
const former: Readonly<Record<string, string>> = {
  settings: "call settings are at the top level: `temperature: 0`, `maxOutputTokens: 1000`.",
  maxAttempts: "set `maxRetries`, which does not count the first attempt.",
  toolConcurrency: "it is called `toolCallConcurrency`.",
  toolTimeoutMs: "set `timeout: { toolMs }`, or `timeout: { tools: { <tool>Ms } }` for one tool.",
  needsApproval: 'set `toolApproval`, a function that returns "user-approval" for such a call.',
};

/** Settings of `streamText` that an agent does not have, each with what takes its place. */
const ofStreamText: Readonly<Record<string, string>> = {
  system: "it is called `instructions`.",
  prompt: "pass the message to `session.send`.",
  messages:
    "a session has its messages: pass the new one to `session.send`, and earlier ones to `importMessages`.",
  abortSignal: "call `session.cancel()`.",
  onChunk: "iterate the turn that `session.send` resolves with: it yields each part as an event.",
};

type KnownAgent = Omit<Agent, UnsupportedSetting>;

function isInstance(value: unknown): boolean {
  return typeof value === "object" && value !== null && "version" in value && "generate" in value;
}

const settings = thing(
  "the settings that `new ToolLoopAgent(settings)` takes (those of an instance are private)",
  (value) => !isInstance(value),
);

export const agentSchema: z.ZodType = z.lazy(() =>
  settings.and(
    optionsOf<KnownAgent>(
      fields(),
      { model },
      { hints: { ...former, ...ofStreamText, ...sdkSettings } },
    ),
  ),
);
