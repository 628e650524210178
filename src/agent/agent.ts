/** The agent that a user passes in: its settings with the AI SDK's names, and their preparation. */

import { hash } from "node:crypto";
import {
  asSchema,
  type FlexibleSchema,
  type ProviderOptions,
  type Schema,
} from "@ai-sdk/provider-utils";
import type {
  Instructions,
  LanguageModel,
  LanguageModelCallOptions,
  OutputInterface,
  PrepareStepFunction,
  ToolCallRepairFunction,
  ToolChoice,
  ToolInputRefinement,
  ToolSet,
} from "ai";
import { type CacheLifetime, type LoopLimits, nameRefusal } from "../context/index.ts";
import {
  byId,
  defined,
  jsonObjectSchema,
  ownCopy,
  TurnlogError,
  type AgentDescription,
  type JsonObject,
  type ModelName,
} from "../events/index.ts";
import { checkFallback, fallbackModels, type Fallback, nameOf } from "./fallback.ts";
import type { TurnContext } from "./turn-context.ts";
import {
  callSettings,
  type UnsupportedSetting,
  type Bivariant,
  type PrepareCall,
} from "./call-settings.ts";
import type { LifecycleSettings } from "../telemetry/index.ts";
import type { StopWhen, AgentTimeout, TimeLimits } from "./agent-limits.ts";
import { loadedAgent, isToolSearch } from "./tool-search.ts";
import { checkContext, type ContextOptions } from "./context-options.ts";
import { guardedContext } from "./user-callbacks.ts";
import { withFullStop, toJson } from "../shared/index.ts";
import { withReader, sentTools } from "./reader-tool.ts";
import { isNoObject } from "./request-schema.ts";
import type { ToolApproval } from "./tool-approval.ts";
import { z } from "zod";
import { uncompiled } from "../validation/index.ts";

/** Settings of the AI SDK's `ToolLoopAgent` that are refused; none is ignored. */
type UnsupportedSettings = { readonly [Setting in UnsupportedSetting]?: never };

/**
 * The settings of the AI SDK's `ToolLoopAgent`, with its names and meanings, and turnlog's own.
 * @example
 * const agent: Agent = { model, instructions: "Be brief.", tools: { search } };
 */
export interface Agent
  extends UnsupportedSettings, TurnContext, LifecycleSettings, LanguageModelCallOptions {
  /** Names the agent in the log. */
  readonly id?: string;
  readonly model: LanguageModel;
  /**
   * Models that take over, in this order, when a call fails for good before it has said or called anything. The rest
   * of the turn is theirs; the next turn begins with `model` again.
   */
  readonly fallback?: readonly Fallback[];
  /** `"partial"`: another model also continues what a reply that broke off has said. Default: the turn fails. */
  readonly continueOn?: "partial";
  /** A text, or system messages with options for the provider. */
  readonly instructions?: Instructions;
  readonly tools?: ToolSet;
  /** The names of the tools that requests include. Default: all. */
  readonly activeTools?: readonly string[];
  /** The tools that come first in a request, in this order; the others follow by name. */
  readonly toolOrder?: readonly string[];
  readonly toolChoice?: ToolChoice<ToolSet>;
  /**
   * Decides which calls need a person's approval and which are denied. It overrides the tools' own
   * `needsApproval`.
   */
  readonly toolApproval?: ToolApproval;
  /** Tools of one step that may run at the same time. Default: all. */
  readonly toolCallConcurrency?: number;
  /** By tool, a function that changes the inputs of its calls before they are recorded. */
  readonly experimental_refineToolInput?: ToolInputRefinement<ToolSet>;
  /** Repairs calls of unknown tools and calls with invalid input. */
  readonly repairToolCall?: Bivariant<ToolCallRepairFunction<ToolSet>>;
  /** Attempts at a model call after the first one, if it fails temporarily. Default 2. */
  readonly maxRetries?: number;
  readonly timeout?: AgentTimeout;
  readonly headers?: Record<string, string | undefined>;
  readonly providerOptions?: ProviderOptions;
  /** Steps that one turn may take; `Infinity` for no limit. Default: 20, or no limit with `stopWhen`. */
  readonly maxSteps?: number;
  /**
   * Ends a turn, with the reason `stop-condition`, after a step whose calls have results: `isStepCount` or
   * `hasToolCall` of the AI SDK, or your own functions over the turn's steps. An error fails the turn
   * (`CALLBACK_FAILED`).
   */
  readonly stopWhen?: StopWhen;
  /**
   * The structured output of every turn: `Output.object`, `array`, `choice`, `json` or `text` of the AI
   * SDK. `send` may override it. If the text does not fit, the turn's result rejects (`OUTPUT_INVALID`).
   */
  readonly output?: OutputInterface;
  /**
   * Gives a step other settings, as in the AI SDK: `model`, `activeTools`, `toolChoice`, `instructions`,
   * `messages` and more. The messages that it gets are frozen. The messages and instructions that it returns hold
   * until the turn ends. Its answer is recorded before the model is called. An error fails the turn
   * (`CALLBACK_FAILED`).
   */
  readonly prepareStep?: Bivariant<PrepareStepFunction<ToolSet>>;
  /**
   * Gives a turn other settings, from the `options` of the `send` that begins it. As in the AI SDK, it
   * returns all settings of the turn: `({ options, ...settings }) => ({ ...settings, … })`. It is called once per
   * turn, and again after a restart. An error fails the turn (`CALLBACK_FAILED`).
   */
  readonly prepareCall?: Bivariant<PrepareCall>;
  /** Validates the `options` of `send` before the message is accepted. */
  readonly callOptionsSchema?: FlexibleSchema<unknown>;
  /** Policies for tools, by name. */
  readonly toolPolicies?: Readonly<Record<string, ToolPolicy>>;
  readonly timeLimits?: TimeLimits;
  /** Ends a turn that repeats itself. Default: after 5 equal calls or replies; `false`: never. */
  readonly loopGuard?: LoopLimits | false;
  /** How much of a long session the prompt contains. */
  readonly context?: ContextOptions;
  /** How requests use the provider's prompt cache. Default `"auto"`. */
  readonly promptCache?: PromptCaching;
}

/**
 * How requests ask their provider to cache the prompt. `"auto"`: Claude's tools, instructions and newest
 * messages are marked where a later request is expected to read them, for five minutes; OpenAI gets a
 * `promptCacheKey`. `ttl`: how long Claude keeps them, at the provider's price for that time. Marks of your own,
 * anywhere in the settings, instructions, tools or messages, replace all of these. `"off"`: nothing is marked.
 * @example
 * const agent: Agent = { model, tools, promptCache: { ttl: "1h" } };
 */
export type PromptCaching = "auto" | "off" | { readonly ttl: CacheLifetime };

/**
 * Limits and recovery of one tool.
 * @example
 * const agent: Agent = { model, tools, toolPolicies: { pay: { onInterrupted: "ask", concurrency: 1 } } };
 */
export interface ToolPolicy {
  /** How many of its calls may run at the same time. Default: the agent's `toolCallConcurrency`. */
  readonly concurrency?: number;
  /** A repeated call with the same effect id has no second effect. Default false. */
  readonly idempotent?: boolean;
  /**
   * What happens in a recovered turn to a call that was running when the process died: `report` tells the
   * model that the outcome is unknown, `retry` runs it again, `ask` asks a person.
   * Default: `retry` for an idempotent tool, else `report`.
   */
  readonly onInterrupted?: "report" | "retry" | "ask";
}

export interface PreparedAgent {
  /** Includes `read_tool_output`, if the agent can use it. */
  readonly agent: Agent;
  readonly description: AgentDescription;
  /** The texts of `description.parts` by their digests: instructions, definitions of tools. */
  readonly texts: ReadonlyMap<string, string>;
  readonly settings: JsonObject;
  /** The constant parts of every prompt: the instructions, and the tool definitions as JSON. */
  readonly instructions: string;
  readonly tools: string;
}

export const DEFAULT_MAX_STEPS = 20;
/** The recorded `maxSteps` without a limit: JSON has no infinity. */
const NO_STEP_LIMIT = Number.MAX_SAFE_INTEGER;

/** The limit on steps that a turn begins with. */
export function stepLimit({ maxSteps, stopWhen, prepareCall }: Agent): number {
  // With `prepareCall`, the default is a stop condition, which it may replace.
  const isOpen = stopWhen !== undefined || prepareCall !== undefined;
  const byDefault = isOpen ? NO_STEP_LIMIT : DEFAULT_MAX_STEPS;
  return Math.min(maxSteps ?? byDefault, NO_STEP_LIMIT);
}

/**
 * Copies the agent, reads its tool schemas, and derives its description. `named`: the name of its model, if
 * `given.model` is only a placeholder. @throws TurnlogError `INVALID_INPUT` for a schema without a JSON Schema
 */
export async function prepareAgent(given: Agent, named?: ModelName): Promise<PreparedAgent> {
  const model = named ?? nameOf(given.model);
  checkContext(given.context);
  checkFallback(given);
  for (const one of [model, ...fallbackModels(given).map(({ name }) => name)])
    checkTools(given.tools, one);
  const agent = withReader(heldAgent(given));
  const schemas = Object.entries(agent.tools ?? {}).map(([name, tool]) => ({
    name,
    tool,
    inputSchema: asSchema(tool.inputSchema),
  }));
  const converted = agent.tools === undefined ? agent : { ...agent, tools: withSchemas(schemas) };
  const tools = await Promise.all(
    Object.entries(sentTools(converted) ?? {}).map(async ([name, tool]) => ({
      name,
      // A description that is computed for each call is not part of the agent.
      description: typeof tool.description === "string" ? tool.description : null,
      inputSchema: await jsonSchemaOf(name, tool),
      ...sentBeside(tool),
    })),
  );
  // What a search finds later is in the bills then.
  const loaded = loadedAgent(converted, new Set()).tools ?? {};
  const first = tools.filter(({ name }) => byId(loaded, name) !== undefined);
  const { id, toolChoice } = agent;
  const instructions = instructionsText(agent.instructions);
  const choice = toolChoice === undefined ? {} : { toolChoice };
  const definitions = tools.map((tool) => [tool.name, JSON.stringify(toJson(tool))] as const);
  const texts = new Map<string, string>();
  const digestOf = (text: string): string => {
    const digest = hash("sha256", text);
    texts.set(digest, text);
    return digest;
  };
  const definition = JSON.stringify(toJson({ model, instructions, tools, ...choice }));
  return {
    agent: converted,
    description: {
      digest: hash("sha256", definition),
      model,
      tools: tools.map((tool) => tool.name),
      ...(id === undefined ? {} : { id }),
      parts: {
        instructions: digestOf(instructions),
        tools: Object.fromEntries(definitions.map(([name, text]) => [name, digestOf(text)])),
        ...choice,
      },
    },
    texts,
    settings: await sentSettings(agent),
    instructions,
    tools: first.length === 0 ? "" : JSON.stringify(first),
  };
}

/** What a request says of a tool besides its name, description and input schema. */
function sentBeside(tool: ToolSet[string]): object {
  const { strict, inputExamples, providerOptions, deferLoading } = tool;
  const provided = tool.type === "provider" ? { id: tool.id, args: tool.args } : {};
  return defined({ strict, inputExamples, providerOptions, deferLoading, ...provided });
}

/** The settings that shape a request, without headers and keys of the user's, which are secrets. */
async function sentSettings(agent: Agent): Promise<JsonObject> {
  const { providerOptions = {}, output, toolChoice } = agent;
  const { byok: _, ...gateway } = providerOptions["gateway"] ?? {};
  const options = { ...providerOptions, ...(Object.keys(gateway).length > 0 && { gateway }) };
  const format = output === undefined ? undefined : await output.responseFormat;
  return jsonObjectSchema.parse(
    toJson({
      ...callSettings(agent),
      ...defined({ toolChoice }),
      ...(Object.keys(options).length === 0 ? {} : { providerOptions: options }),
      ...(format?.type === "json" ? { responseFormat: format } : {}),
    }),
  );
}

/** One text for the estimate and the digest. Messages appear as JSON, with their options. */
function instructionsText(instructions: Instructions = ""): string {
  return typeof instructions === "string" ? instructions : JSON.stringify(toJson(instructions));
}

/** @throws TurnlogError `INVALID_INPUT` */
async function jsonSchemaOf(name: string, tool: ToolSet[string]): Promise<unknown> {
  const option = `agent.tools.${name}.inputSchema`;
  let made: unknown;
  try {
    made = await asSchema(tool.inputSchema).jsonSchema;
  } catch (error) {
    const why = error instanceof Error ? withFullStop(error.message) : "";
    throw new TurnlogError(
      "INVALID_INPUT",
      `\`${option}\` cannot be told to a model, as it has no JSON Schema. ${why}`,
      { cause: error, details: { option } },
    );
  }
  // A provider's own tool may take a text.
  if (tool.type === "provider" || !isNoObject(toJson(made))) return made;
  throw new TurnlogError(
    "INVALID_INPUT",
    `\`${option}\` is not a schema of an object, and models call tools with objects only: make the value a property of one.`,
    { details: { option } },
  );
}

/** The same tools with converted schemas, which the SDK would convert for each call. */
function withSchemas(
  schemas: readonly {
    readonly name: string;
    readonly tool: ToolSet[string];
    readonly inputSchema: Schema;
  }[],
): ToolSet {
  return Object.fromEntries(
    schemas.map(({ name, tool, inputSchema }) => [name, { ...tool, inputSchema }]),
  );
}

/**
 * A copy of an agent, so that later changes by the caller have no effect. Models, functions, contexts and
 * strategies are shared.
 */
export function heldAgent(given: Agent): Agent {
  const { model, fallback, tools, context, runtimeContext, toolsContext, ...plain } = given;
  return {
    ...given,
    ...ownCopy(plain),
    ...(fallback && { fallback: [...fallback] }),
    ...(tools && { tools: heldTools(tools) }),
    ...(context && { context: heldContext(context) }),
  };
}

function heldTools(tools: NonNullable<Agent["tools"]>): NonNullable<Agent["tools"]> {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, { ...tool }]));
}

function heldContext(context: NonNullable<Agent["context"]>): NonNullable<Agent["context"]> {
  const { limits, prune, cut, media, onRefusal } = context;
  const plain = given({ limits, prune, cut, media, onRefusal });
  return { ...guardedContext(context), ...ownCopy(plain) };
}

function given<Options extends object>(
  options: Options,
): { [Name in keyof Options]?: Exclude<Options[Name], undefined> };
function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

// Tools that no request could ever have are refused when an agent is given.

/** How the SDK marks a tool that calls others in this process; a provider's, such as code execution, works. */
const localCaller = z.looseObject({
  experimental_toolCaller: z.looseObject({ type: z.literal("local") }),
});

/** @throws TurnlogError `INVALID_INPUT` */
export function checkTools(tools: ToolSet = {}, model: ModelName): void {
  const all = Object.entries(tools);
  const isFound = all.some(([, tool]) => isToolSearch(tool));
  for (const [name, tool] of all) {
    const why = refusal(name, tool, isFound, model);
    if (why === undefined) continue;
    const option = `agent.tools[${JSON.stringify(name)}]`;
    throw new TurnlogError("INVALID_INPUT", `\`${option}\` ${why}`, { details: { option } });
  }
}

/** @param isFound - Whether another tool finds the deferred ones. */
function refusal(
  name: string,
  tool: ToolSet[string],
  isFound: boolean,
  model: ModelName,
): string | undefined {
  if (localCaller.safeParse(tool, uncompiled).success)
    return "calls other tools by code (`experimental_toolCallers`): every tool is called by the model.";
  if (tool.deferLoading === true && isToolSearch(tool))
    return "searches for tools: it must not defer its own loading.";
  if (tool.deferLoading === true && !isFound)
    return "defers its loading, and no tool finds it: add `toolSearch()` to the tools.";
  const form = tool.type === "provider" ? undefined : nameRefusal(name, model);
  return form === undefined
    ? undefined
    : `has a name that ${model.modelId} (${model.provider}) refuses. A name must have ${form}: rename the tool.`;
}
