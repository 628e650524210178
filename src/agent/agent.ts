/** What a user hands over to be run: a model, its instructions and tools, taken from the AI SDK unchanged. */

import { hash } from "node:crypto";
import { asSchema, type ProviderOptions, type Schema } from "@ai-sdk/provider-utils";
import type { LanguageModel, LanguageModelCallOptions, ToolCallRepairFunction, ToolSet } from "ai";
import type { LoopLimits } from "../context/index.ts";
import {
  byId,
  ownCopy,
  TurnlogError,
  type AgentDescription,
  type JsonValue,
  type ModelName,
} from "../events/index.ts";
import type { UnsupportedSetting } from "./sdk-settings.ts";
import type { CallLimits } from "./call-limits.ts";
import { checkContext, type ContextOptions } from "./context-options.ts";
import { guardedContext } from "./user-callbacks.ts";
import { withFullStop, toJson } from "../shared/index.ts";
import { withReader } from "./reader-tool.ts";

/** Settings of the AI SDK's `ToolLoopAgent` that are refused: none of them is ignored. */
type UnsupportedSettings = { readonly [Setting in UnsupportedSetting]?: never };

/** Who runs a session: a model with instructions and tools, and within which limits. */
export interface Agent extends UnsupportedSettings {
  readonly model: LanguageModel;
  readonly instructions?: string;
  readonly tools?: ToolSet;
  /** Steps that one turn may take; `Infinity` for no limit. Default 50. */
  readonly maxSteps?: number;
  /** Tools of one step that may run at the same time; `Infinity` for all. Default 8. */
  readonly toolConcurrency?: number;
  /** Milliseconds that a tool may run. Default: no limit. */
  readonly toolTimeoutMs?: number;
  /** How single tools are to be treated, by name. */
  readonly toolPolicies?: Readonly<Record<string, ToolPolicy>>;
  /** Calls that need a person's approval although their tool does not ask for it. */
  readonly needsApproval?: (call: ApprovalQuestion) => boolean | PromiseLike<boolean>;
  /** Attempts at a model call that fails in a way that may pass. Default 3. */
  readonly maxAttempts?: number;
  readonly timeLimits?: TimeLimits;
  /** Ends a turn that goes in circles. Default: 5 equal calls or replies; `false` switches it off. */
  readonly loopGuard?: LoopLimits | false;
  /** What the model gets to see of a long session. */
  readonly context?: ContextOptions;
  /** The AI SDK's call settings: `temperature`, `maxOutputTokens`, … */
  readonly settings?: LanguageModelCallOptions;
  readonly headers?: Record<string, string>;
  readonly providerOptions?: ProviderOptions;
  /** Passed to the AI SDK: mends calls of unknown tools and calls with invalid input. */
  readonly repairToolCall?: ToolCallRepairFunction<ToolSet>;
}

/** How one tool is to be treated. */
export interface ToolPolicy {
  /** Milliseconds that it may run. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number;
  /** Calls of it that may run at the same time. Default: as many as of all tools. */
  readonly concurrency?: number;
  /** Running it again with the same effect id does nothing twice. Default false. */
  readonly idempotent?: boolean;
  /**
   * What becomes of a call that was running when the process died, in a turn that goes on:
   * the model is told that the outcome is unknown, it is run again, or a person is asked.
   * Default: `retry` for an idempotent tool, else `report`.
   */
  readonly onInterrupted?: "report" | "retry" | "ask";
}

/** A call about which the agent's `needsApproval` is asked. */
interface ApprovalQuestion {
  readonly session: string;
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
}

/** Milliseconds; a limit that is absent or `Infinity` does not hold. */
export interface TimeLimits extends CallLimits {
  /**
   * For the whole turn, waiting for approval included. Counts while the session is awake, and from
   * the beginning when it is woken up in the middle of a turn.
   */
  readonly turnMs?: number;
  /** When the turn's time is up, the model is told so and may conclude in one step more. Default false. */
  readonly lastStep?: boolean;
}

/** What becomes of a call of this tool that was running when its process died. */
export function interruptedPolicy(
  { toolPolicies = {} }: Agent,
  toolName: string,
): NonNullable<ToolPolicy["onInterrupted"]> {
  const policy = byId(toolPolicies, toolName);
  return policy?.onInterrupted ?? (policy?.idempotent === true ? "retry" : "report");
}

/** An agent with what follows from it, worked out once. */
export interface PreparedAgent {
  /** With the tool by which long results are read. */
  readonly agent: Agent;
  readonly description: AgentDescription;
  /** The instructions, and the tool definitions as JSON: the parts of every prompt that stay. */
  readonly instructions: string;
  readonly tools: string;
}

export const DEFAULT_MAX_STEPS = 50;
/** What the log has where there is no limit: a number that JSON can hold. */
export const NO_STEP_LIMIT: number = Number.MAX_SAFE_INTEGER;
export const DEFAULT_TOOL_CONCURRENCY = 8;
export const DEFAULT_MAX_ATTEMPTS = 3;

/** What a model is called in the log. */
export function nameOf(model: LanguageModel): ModelName {
  return typeof model === "string"
    ? { provider: "gateway", modelId: model }
    : { provider: model.provider, modelId: model.modelId };
}

/**
 * @param named - What the log calls its model, where that is not to be asked of the model itself.
 * @throws TurnlogError `INVALID_INPUT` for a schema that has no JSON Schema
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
      // A description made per call is not part of what the agent is.
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

/** The same tools; what was made of their schemas is kept, which the SDK would make anew for each call. */
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

/** An agent as it was when it was handed over: its tools and plain options are copies. Models, functions and strategies stay themselves. */
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

/** Without what is undefined: an option that is not given is absent. */
function given<Options extends object>(
  options: Options,
): { [Name in keyof Options]?: Exclude<Options[Name], undefined> };
function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
