/** The agent that a user passes in: its settings with the AI SDK's names, and their preparation. */

import { hash } from "node:crypto";
import { asSchema, type ProviderOptions, type Schema } from "@ai-sdk/provider-utils";
import type {
  LanguageModel,
  LanguageModelCallOptions,
  OutputInterface,
  ToolCallRepairFunction,
  ToolSet,
} from "ai";
import type { LoopLimits } from "../context/index.ts";
import {
  byId,
  ownCopy,
  TurnlogError,
  type AgentDescription,
  type JsonValue,
  type ModelName,
} from "../events/index.ts";
import type { TurnContext } from "./turn-context.ts";
import type { UnsupportedSetting } from "./sdk-settings.ts";
import type { LifecycleSettings } from "../telemetry/index.ts";
import type { CallLimits } from "./call-limits.ts";
import type { StopWhen } from "./stop-conditions.ts";
import { checkContext, type ContextOptions } from "./context-options.ts";
import { guardedContext } from "./user-callbacks.ts";
import { withFullStop, toJson } from "../shared/index.ts";
import { withReader } from "./reader-tool.ts";

/** Settings of the AI SDK's `ToolLoopAgent` that are refused; none is ignored. */
type UnsupportedSettings = { readonly [Setting in UnsupportedSetting]?: never };

/** The agent of a session: a model with instructions, tools and limits. */
export interface Agent extends UnsupportedSettings, TurnContext, LifecycleSettings {
  readonly model: LanguageModel;
  readonly instructions?: string;
  readonly tools?: ToolSet;
  /** Steps that one turn may take; `Infinity` for no limit. Default: 50, with `stopWhen` no limit. */
  readonly maxSteps?: number;
  /**
   * Ends a turn after a step whose calls have results, as `stop-condition`: `isStepCount`, `hasToolCall`
   * of the AI SDK, or own functions over the turn's steps. An error fails the turn (`CALLBACK_FAILED`).
   */
  readonly stopWhen?: StopWhen;
  /**
   * The structured output of every turn: `Output.object`, `array`, `choice`, `json` or `text` of the AI
   * SDK. `send` may give another one. A text that does not fit fails the turn's result (`OUTPUT_INVALID`).
   */
  readonly output?: OutputInterface;
  /** Tools of one step that may run at the same time; `Infinity` for all. Default 8. */
  readonly toolConcurrency?: number;
  /** Milliseconds that a tool may run. Default: no limit. */
  readonly toolTimeoutMs?: number;
  /** Policies of tools, by name. */
  readonly toolPolicies?: Readonly<Record<string, ToolPolicy>>;
  /** Whether a call needs a person's approval, in addition to its tool's own `needsApproval`. */
  readonly needsApproval?: (call: ApprovalQuestion) => boolean | PromiseLike<boolean>;
  /** Attempts at a model call that fails temporarily, the first included. Default 3. */
  readonly maxAttempts?: number;
  readonly timeLimits?: TimeLimits;
  /** Ends a turn that repeats itself. Default: after 5 equal calls or replies; `false`: never. */
  readonly loopGuard?: LoopLimits | false;
  /** What the prompt contains of a long session. */
  readonly context?: ContextOptions;
  /** The AI SDK's call settings: `temperature`, `maxOutputTokens`, … */
  readonly settings?: LanguageModelCallOptions;
  readonly headers?: Record<string, string>;
  readonly providerOptions?: ProviderOptions;
  /** Passed to the AI SDK: repairs calls of unknown tools and calls with invalid input. */
  readonly repairToolCall?: ToolCallRepairFunction<ToolSet>;
}

/** Limits and recovery of one tool. */
export interface ToolPolicy {
  /** Milliseconds that it may run. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number;
  /** Calls of it that may run at the same time. Default: the agent's `toolConcurrency`. */
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

/** The argument of the agent's `needsApproval`. */
interface ApprovalQuestion {
  readonly session: string;
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
}

/** Milliseconds. An absent limit or `Infinity` means no limit. */
export interface TimeLimits extends CallLimits {
  /**
   * For the whole turn, including waits for approval. Counts while the session is live, and starts again
   * when it is activated in the middle of a turn.
   */
  readonly turnMs?: number;
  /** Grant the model one more step to conclude when the turn's time is up. Default false. */
  readonly lastStep?: boolean;
}

/** The policy for a call of this tool that was running when its process died. */
export function interruptedPolicy(
  { toolPolicies = {} }: Agent,
  toolName: string,
): NonNullable<ToolPolicy["onInterrupted"]> {
  const policy = byId(toolPolicies, toolName);
  return policy?.onInterrupted ?? (policy?.idempotent === true ? "retry" : "report");
}

/** An agent with the values derived from it once. */
export interface PreparedAgent {
  /** Includes `read_tool_output`, if the agent can use it. */
  readonly agent: Agent;
  readonly description: AgentDescription;
  /** The constant parts of every prompt: the instructions, and the tool definitions as JSON. */
  readonly instructions: string;
  readonly tools: string;
}

const DEFAULT_MAX_STEPS = 50;
/** The recorded `maxSteps` without a limit: JSON has no infinity. */
const NO_STEP_LIMIT: number = Number.MAX_SAFE_INTEGER;

/** The limit on steps that a turn begins with. */
export function stepLimit({ maxSteps, stopWhen }: Agent): number {
  const byDefault = stopWhen === undefined ? DEFAULT_MAX_STEPS : NO_STEP_LIMIT;
  return Math.min(maxSteps ?? byDefault, NO_STEP_LIMIT);
}

export const DEFAULT_TOOL_CONCURRENCY = 8;
export const DEFAULT_MAX_ATTEMPTS = 3;

export function nameOf(model: LanguageModel): ModelName {
  return typeof model === "string"
    ? { provider: "gateway", modelId: model }
    : { provider: model.provider, modelId: model.modelId };
}

/**
 * Copies the agent, reads its tool schemas, and derives its description.
 * @param named - The name of its model, if `given.model` is only a placeholder.
 * @throws TurnlogError `INVALID_INPUT` for a schema without a JSON Schema
 */
export async function prepareAgent(given: Agent, named?: ModelName): Promise<PreparedAgent> {
  const model = named ?? nameOf(given.model);
  checkContext(given.context);
  const agent = withReader(heldAgent(given));
  const schemas = Object.entries(agent.tools ?? {}).map(([name, tool]) => ({
    name,
    tool,
    inputSchema: asSchema(tool.inputSchema),
  }));
  const tools = await Promise.all(
    schemas.map(async ({ name, tool, inputSchema }) => ({
      name,
      // A description that is made per call is not part of the agent.
      description: typeof tool.description === "string" ? tool.description : null,
      inputSchema: await jsonSchemaOf(name, inputSchema),
    })),
  );
  const instructions = agent.instructions ?? "";
  const definition = JSON.stringify(toJson({ model, instructions, tools }));
  return {
    agent: agent.tools === undefined ? agent : { ...agent, tools: withSchemas(schemas) },
    description: {
      digest: hash("sha256", definition),
      model,
      tools: tools.map((tool) => tool.name),
      parts: {
        instructions: hash("sha256", instructions),
        tools: Object.fromEntries(
          tools.map((tool) => [tool.name, hash("sha256", JSON.stringify(toJson(tool)))]),
        ),
      },
    },
    instructions,
    tools: tools.length === 0 ? "" : JSON.stringify(tools),
  };
}

/** @throws TurnlogError `INVALID_INPUT` */
async function jsonSchemaOf(tool: string, schema: Schema): Promise<unknown> {
  try {
    return await schema.jsonSchema;
  } catch (error) {
    const why = error instanceof Error ? withFullStop(error.message) : "";
    throw new TurnlogError(
      "INVALID_INPUT",
      `\`agent.tools.${tool}.inputSchema\` cannot be told to a model, as it has no JSON Schema. ${why}`,
      { cause: error, details: { option: `agent.tools.${tool}.inputSchema` } },
    );
  }
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

/** A copy of an agent, so that later changes by the caller have no effect. Models, functions and strategies are shared. */
export function heldAgent({ tools, context, ...agent }: Agent): Agent {
  const { settings, headers, providerOptions, toolPolicies, timeLimits, loopGuard } = agent;
  const own = { settings, headers, providerOptions, toolPolicies, timeLimits, loopGuard };
  return {
    ...agent,
    ...ownCopy(given(own)),
    ...(tools && { tools: heldTools(tools) }),
    ...(context && { context: heldContext(context) }),
  };
}

function heldTools(tools: NonNullable<Agent["tools"]>): NonNullable<Agent["tools"]> {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, { ...tool }]));
}

function heldContext(context: NonNullable<Agent["context"]>): NonNullable<Agent["context"]> {
  const { limits, prune, cut, media } = context;
  return { ...guardedContext(context), ...ownCopy(given({ limits, prune, cut, media })) };
}

/** The options without those that are undefined. */
function given<Options extends object>(
  options: Options,
): { [Name in keyof Options]?: Exclude<Options[Name], undefined> };
function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
