/** The agent's `prepareCall`: other settings for one turn, by the options of its message. */

import { validateTypes } from "@ai-sdk/provider-utils";
import type { ModelMessage } from "ai";
import {
  jsonObjectSchema,
  TurnlogError,
  type JsonObject,
  type StepOverrides,
  defined,
} from "../events/index.ts";
import { toJson, withFullStop, readableError } from "../shared/index.ts";
import { check } from "../validation/index.ts";
import { agentSchema } from "./agent-schema.ts";
import { DEFAULT_MAX_STEPS, type Agent } from "./agent.ts";
import { nameOf } from "./fallback.ts";
import { type PrepareCall, callSettings } from "./call-settings.ts";
import type { StopWhen } from "./agent-limits.ts";
import type { TurnContext } from "./turn-context.ts";
import { awaited } from "./user-callbacks.ts";

/** The settings that a turn begins with. */
export interface TurnCall {
  readonly options: unknown;
  readonly messages: readonly ModelMessage[];
  readonly context: Required<TurnContext>;
}

export interface PreparedCall {
  readonly agent: Agent;
  /** Undefined if the function returned the settings that it was given. */
  readonly messages: readonly ModelMessage[] | undefined;
  readonly context: TurnContext;
}

/**
 * The options of a message as the agent's schema returns them.
 * @throws TurnlogError `INVALID_INPUT`, also for options that nothing would read
 */
export async function callOptions(
  { callOptionsSchema: schema, prepareCall }: Pick<Agent, "callOptionsSchema" | "prepareCall">,
  options: unknown,
  who: string,
): Promise<unknown> {
  if (options === undefined) return undefined;
  const refuse = (why: string, cause?: unknown): TurnlogError =>
    new TurnlogError("INVALID_INPUT", `${who}: \`options\` ${why}`, {
      details: { option: "options" },
      ...(cause === undefined ? {} : { cause }),
    });
  if (prepareCall === undefined)
    throw refuse("have no effect: the agent has no `prepareCall` that reads them.");
  if (schema === undefined) return options;
  try {
    return await validateTypes<unknown>({ value: options, schema, context: { field: "options" } });
  } catch (thrown) {
    const error = readableError(thrown);
    const why = error instanceof Error ? withFullStop(error.message) : "";
    throw refuse(`do not fit the agent's \`callOptionsSchema\`. ${why}`, error);
  }
}

/** The default `stopWhen` of the AI SDK. */
const afterDefaultSteps: StopWhen = ({ steps }) => steps.length === DEFAULT_MAX_STEPS;

/** Settings that `prepareCall` replaces: what it does not return is not set in the turn. */
const replaced = [
  "tools",
  "toolChoice",
  "maxRetries",
  "maxOutputTokens",
  "temperature",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "stopSequences",
  "seed",
  "reasoning",
  "headers",
  "instructions",
  "stopWhen",
  "activeTools",
  "toolOrder",
  "toolCallConcurrency",
  "toolApproval",
  "prepareStep",
  "repairToolCall",
  "providerOptions",
  "experimental_refineToolInput",
  "runtimeContext",
  "toolsContext",
] as const satisfies readonly (keyof Agent)[];

/** Settings of the agent itself, which a turn does not change. */
const kept = ["prepareCall", "callOptionsSchema"] as const;

/** The agent of a turn, as `prepareCall` returns it. @throws TurnlogError `CALLBACK_FAILED` */
export async function preparedCall(agent: Agent, call: TurnCall): Promise<PreparedCall> {
  const { prepareCall } = agent;
  const given = [...call.messages];
  const settings = Object.fromEntries(
    Object.entries(agent).filter(([name]) => !kept.some((one) => one === name)),
  );
  const answer = await awaited("prepareCall", async (): Promise<Record<string, unknown>> => {
    const base = {
      ...settings,
      ...call.context,
      stopWhen: agent.stopWhen ?? afterDefaultSteps,
      messages: given,
      ...(call.options === undefined ? {} : { options: call.options }),
    };
    // The SDK types the argument by the tools and the options of one agent.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const result: unknown = await prepareCall?.(base as unknown as Parameters<PrepareCall>[0]);
    const { options: _, messages, prompt, ...changed } = asRecord(result ?? base);
    check(agentSchema, changed, "its answer");
    return { changed, messages: messages ?? promptMessages(prompt) };
  });
  const { changed, messages } = answer;
  const own = Object.fromEntries(
    Object.entries(settings).filter(([name]) => !replaced.some((one) => one === name)),
  );
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const turnAgent = { ...own, ...asRecord(changed) } as unknown as Agent;
  const { runtimeContext, toolsContext } = turnAgent;
  return {
    agent: { ...turnAgent, stopWhen: turnAgent.stopWhen ?? afterDefaultSteps },
    // They are validated by the SDK's schema together with the turn's other messages.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    messages: messages === undefined ? undefined : (messages as readonly ModelMessage[]),
    context: defined({ runtimeContext, toolsContext }),
  };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function promptMessages(prompt: unknown): unknown {
  return typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt;
}

/** The recorded settings of a turn that differ from the agent's. Undefined if none do. */
export function turnOverrides(agent: Agent, turn: Agent): StepOverrides | undefined {
  const [before, after] = [agent, turn].map(recordedSettings);
  const changed = Object.entries({ ...after }).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before?.[name]),
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

function recordedSettings(agent: Agent): JsonObject {
  const { model, activeTools, toolOrder, toolChoice, providerOptions } = agent;
  const settings = callSettings(agent);
  return jsonObjectSchema.parse(
    toJson({ model: nameOf(model), activeTools, toolOrder, toolChoice, settings, providerOptions }),
  );
}
