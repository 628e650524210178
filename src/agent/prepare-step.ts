/** The agent's `prepareStep`: its answer as recorded data, and the agent of a step that follows from it. */

import type { LanguageModel, PrepareStepFunction, ToolSet } from "ai";
import { z } from "zod";
import {
  jsonObjectSchema,
  providerMetadataSchema,
  TurnlogError,
  type JsonValue,
  type ModelName,
  type StepOverrides,
  defined,
} from "../events/index.ts";
import { toJson } from "../shared/index.ts";
import { check, nearestName } from "../validation/index.ts";
import {
  instructionsSchema,
  stepChangesSchema,
  toolChoiceSchema,
  type StepChanges,
} from "./agent-schema.ts";
import { prepareAgent, type PreparedAgent } from "./agent.ts";
import { nameOf } from "./fallback.ts";
import { callSettings } from "./call-settings.ts";
import { awaited } from "./user-callbacks.ts";

export type StepOptions = Parameters<PrepareStepFunction<ToolSet>>[0];

/** Calls `prepareStep` and checks its answer. @throws TurnlogError `CALLBACK_FAILED` */
export async function stepChanges(
  { agent: { prepareStep, tools = {} }, description }: Pick<PreparedAgent, "agent" | "description">,
  options: StepOptions,
): Promise<StepChanges> {
  return await awaited("prepareStep", async () => {
    const changes = (await prepareStep?.(options)) ?? {};
    check(stepChangesSchema, changes, "its answer");
    assertTools(changes, Object.keys(tools), description.mcp !== undefined);
    return changes;
  });
}

/**
 * @throws TurnlogError `INVALID_INPUT` for a name that no tool has; the AI SDK would drop such a name, and would
 * send such a choice
 */
function assertTools(
  { activeTools, toolOrder, toolChoice }: StepChanges,
  tools: readonly string[],
  hasServers: boolean,
): void {
  const named = Object.entries({
    activeTools: activeTools ?? [],
    toolOrder: toolOrder ?? [],
    toolChoice: typeof toolChoice === "object" ? [toolChoice.toolName] : [],
  }).flatMap(([option, names]) => names.map((name) => [option, name] as const));
  // The server of an MCP tool may be away in this step.
  const isKnown = (name: string): boolean =>
    tools.includes(name) || (hasServers && name.includes("__"));
  const unknown = named.find(([, name]) => !isKnown(name));
  if (unknown === undefined) return;
  const [option, name] = unknown;
  const nearest = nearestName(name, tools);
  const advice =
    nearest === undefined
      ? `The agent has ${tools.join(", ") || "no tools"}.`
      : `Did you mean \`${nearest}\`?`;
  throw new TurnlogError(
    "INVALID_INPUT",
    `its answer: \`${option}\` names the tool ${name}, which does not exist. ${advice}`,
    { details: { option, ...(nearest === undefined ? {} : { nearest }) } },
  );
}

/** The changed settings as recorded data. Undefined if no setting changed. */
export function stepOverrides(changes: StepChanges): StepOverrides | undefined {
  const { model, activeTools, toolOrder, toolChoice, providerOptions } = changes;
  const settings = jsonObjectSchema.parse(toJson(callSettings(changes)));
  const overrides: StepOverrides = {
    ...(model === undefined ? {} : { model: nameOf(model) }),
    ...(activeTools === undefined ? {} : { activeTools: activeTools.map(String) }),
    ...(toolOrder === undefined ? {} : { toolOrder: toolOrder.map(String) }),
    ...(toolChoice === undefined ? {} : { toolChoice: toJson(toolChoice) }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(providerOptions === undefined
      ? {}
      : { providerOptions: jsonObjectSchema.parse(toJson(providerOptions)) }),
  };
  return Object.keys(overrides).length === 0 ? undefined : overrides;
}

interface StepAgent {
  readonly overrides: StepOverrides | undefined;
  /** The instructions that hold in the turn. */
  readonly instructions: JsonValue | undefined;
  readonly model: LanguageModel | undefined;
}

export async function preparedFor(
  prepared: PreparedAgent,
  { overrides = {}, instructions, model }: StepAgent,
): Promise<PreparedAgent> {
  const { activeTools, toolOrder, toolChoice, settings, providerOptions } = overrides;
  const { instructions: own, ...agent } = prepared.agent;
  const current = instructions === undefined ? own : instructionsSchema.parse(instructions);
  return await prepareAgent(
    {
      ...agent,
      ...(model === undefined ? {} : { model }),
      ...(current === undefined ? {} : { instructions: current }),
      ...defined({ activeTools, toolOrder }),
      ...(toolChoice === undefined ? {} : { toolChoice: toolChoiceSchema.parse(toolChoice) }),
      ...callSettings(settings ?? {}),
      ...(providerOptions === undefined
        ? {}
        : {
            providerOptions: providerMetadataSchema.parse(
              merged(toJson(agent.providerOptions ?? {}), providerOptions),
            ),
          }),
    },
    overrides.model ?? prepared.description.model,
  );
}

/** The model of a recorded step, where only its name is known. */
export function modelNamed({ provider, modelId }: ModelName): LanguageModel | undefined {
  return provider === "gateway" ? modelId : undefined;
}

const objectSchema = z.record(z.string(), z.unknown());

/** As the AI SDK merges: objects field by field, all else is replaced. */
function merged(base: unknown, change: unknown): unknown {
  const [one, other] = [objectSchema.safeParse(base), objectSchema.safeParse(change)];
  if (!one.success || !other.success) return change;
  const fields = Object.entries(other.data).map(([name, value]) => [
    name,
    Object.hasOwn(one.data, name) ? merged(one.data[name], value) : value,
  ]);
  return { ...one.data, ...Object.fromEntries(fields) };
}
