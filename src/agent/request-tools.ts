/**
 * An agent's tools as a request sends them, without anything that providers refuse. The agent's digest covers
 * them as given.
 */

import { asSchema, jsonSchema, type FlexibleSchema, type Schema } from "@ai-sdk/provider-utils";
import type { LanguageModel, ToolSet, InferToolInput, InferUITools, Tool, UIMessage } from "ai";
import { modelFamily } from "../context/index.ts";
import { toJson, wellFormed } from "../shared/index.ts";
import { nameOf } from "./fallback.ts";
import { requestSchema, type RequestSchema } from "./request-schema.ts";
import { sentTools } from "./reader-tool.ts";
import type { SessionEvent } from "../events/index.ts";

type AnyTool = ToolSet[string];

/** Claude's, of properties at the top. */
const PLAIN_KEY = /^[\w.-]{1,64}$/;

export function requestTools(
  agent: Parameters<typeof sentTools>[0] & { readonly model: LanguageModel },
): ToolSet | undefined {
  const tools = sentTools(agent);
  if (tools === undefined) return undefined;
  const isClaude = modelFamily(nameOf(agent.model)).name === "anthropic";
  const keys = isClaude ? PLAIN_KEY : undefined;
  return Object.fromEntries(
    Object.entries(tools).map(([name, one]) => [name, requestTool(one, keys)]),
  );
}

function requestTool(tool: AnyTool, keys: RegExp | undefined): AnyTool {
  // The provider knows the input of its own tools.
  if (tool.type === "provider") return tool;
  const { description, inputExamples } = tool;
  return {
    ...tool,
    inputSchema: sentSchema(tool.inputSchema, keys),
    ...(description === undefined ? {} : { description: sentText(description) }),
    ...(inputExamples === undefined ? {} : { inputExamples: wellFormed(inputExamples) }),
  };
}

function sentText(text: NonNullable<AnyTool["description"]>): typeof text {
  return typeof text === "string" ? wellFormed(text) : (options) => wellFormed(text(options));
}

/** The sent schemas by the given ones, each made once: with any keys, and with plain ones. */
const anyKeys = new WeakMap<object, Schema>();
const plainKeys = new WeakMap<object, Schema>();

/** The model is told a schema that it accepts; its inputs are validated by the given one. */
function sentSchema(given: FlexibleSchema<unknown>, keys: RegExp | undefined): Schema {
  const schemas = keys === undefined ? anyKeys : plainKeys;
  const known = schemas.get(given);
  if (known !== undefined) return known;
  const schema = asSchema(given);
  let making: Promise<RequestSchema> | undefined;
  const made = async (): Promise<RequestSchema> =>
    await (making ??= (async () => requestSchema(toJson(await schema.jsonSchema), keys))());
  const sent = jsonSchema(async () => wellFormed((await made()).schema), {
    validate: async (value) => {
      const input = withOwnKeys(value, (await made()).ownKeys);
      return (await schema.validate?.(input)) ?? { success: true, value: input };
    },
  });
  schemas.set(given, sent);
  return sent;
}

/** The log and the tool have the tool's own names. */
function withOwnKeys(input: unknown, ownKeys: RequestSchema["ownKeys"]): unknown {
  if (ownKeys.size === 0 || typeof input !== "object" || input === null) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [ownKeys.get(key) ?? key, value]),
  );
}

// Types that follow from an agent's tools.

type ToolsOf<Given> = Given extends { readonly tools: infer Tools extends ToolSet }
  ? Tools
  : ToolSet;

/**
 * The UI message type of an agent, like the AI SDK's type of the same name for `ToolLoopAgent`.
 * @example
 * const agent = { model, tools: { weather } } satisfies Agent;
 * type Message = InferAgentUIMessage<typeof agent>;
 */
export type InferAgentUIMessage<Given, Metadata = unknown> = UIMessage<
  Metadata,
  never,
  InferUITools<ToolsOf<Given>>
>;

type CallEvent = SessionEvent<"part.tool-call">;

type CallOf<Given extends Tool> = CallEvent & {
  readonly data: CallEvent["data"] & { readonly input: InferToolInput<Given> };
};

/**
 * Whether an event is a valid call of a tool; if so, `event.data.input` has the type of the tool's input. The log
 * holds JSON, so a schema that produces dates or other objects has a different type than the recorded input.
 * @example
 * if (isCallOf(event, "weather", weather)) console.log(event.data.input.city);
 */
export function isCallOf<Given extends Tool>(
  event: SessionEvent,
  toolName: string,
  _tool: Given,
): event is CallOf<Given> {
  return (
    event.type === "part.tool-call" &&
    event.data.toolName === toolName &&
    event.data.invalid !== true
  );
}
