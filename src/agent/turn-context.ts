/**
 * The context of a turn: the application's own values for tools, approvals and callbacks. It is never logged.
 */

import { validateTypes, type Context, type Tool } from "@ai-sdk/provider-utils";
import type { ToolSet } from "ai";
import { z } from "zod";
import { byId, TurnlogError } from "../events/index.ts";
import { withFullStop, readableError } from "../shared/index.ts";
import { check, implementation, named, nearestName, optionsOf } from "../validation/index.ts";

/**
 * The context of one turn, as the AI SDK names it. It is not copied: treat it as immutable.
 * @example
 * await session.send("How much?", { context: { runtimeContext: { tenant: "acme" } } });
 */
export interface TurnContext {
  /** For approvals, `prepareStep` and callbacks. */
  readonly runtimeContext?: Context;
  /** For tools, by name. Each is validated by its tool's `contextSchema`. */
  readonly toolsContext?: Readonly<Record<string, Context>>;
}

const object = implementation({});
export const contextFields: Readonly<Record<keyof TurnContext, z.ZodType>> = {
  runtimeContext: object,
  toolsContext: named(object),
};
export const turnContextSchema: z.ZodType = optionsOf<TurnContext>(contextFields, {});

interface Equipment extends TurnContext {
  readonly tools?: ToolSet;
}

/** A turn's context. As in the AI SDK, each of its two parts replaces the agent's as a whole. */
export function contextOf(
  agent: Equipment,
  { runtimeContext, toolsContext }: TurnContext = {},
): Required<TurnContext> {
  return {
    runtimeContext: runtimeContext ?? agent.runtimeContext ?? {},
    toolsContext: toolsContext ?? agent.toolsContext ?? {},
  };
}

/** The context of one tool, as its `contextSchema` returns it. @throws what the schema refuses */
export async function toolContext(
  { contextSchema }: Pick<Tool, "contextSchema">,
  toolName: string,
  { toolsContext = {} }: TurnContext,
): Promise<unknown> {
  const value = byId(toolsContext, toolName);
  if (contextSchema === undefined) return value;
  const context = { field: "tool context", entityName: toolName };
  return await validateTypes<unknown>({ value, schema: contextSchema, context });
}

export interface TurnAnswer extends TurnContext {
  /** The `options` of `send`, for `prepareCall`. */
  readonly options?: unknown;
}

const answerSchema = optionsOf<TurnAnswer>({ ...contextFields, options: z.unknown() }, {});

/** The context that a callback returned. @throws TurnlogError `INVALID_INPUT` */
export async function returnedContext(
  agent: Equipment,
  answer: TurnAnswer | undefined,
): Promise<TurnAnswer> {
  const context = answer ?? {};
  check(answerSchema, context, "its answer");
  await assertToolContexts(agent, context, "its answer");
  return context;
}

/** Validates the contexts of all tools by their schemas. @throws TurnlogError `INVALID_INPUT` */
export async function assertToolContexts(
  { tools = {} }: Equipment,
  { toolsContext }: TurnContext,
  who: string,
): Promise<void> {
  if (toolsContext === undefined) return;
  const refuse = (toolName: string, why: string, cause?: unknown): TurnlogError =>
    new TurnlogError("INVALID_INPUT", `${who}: \`toolsContext.${toolName}\` ${why}`, {
      details: { option: `toolsContext.${toolName}` },
      ...(cause === undefined ? {} : { cause }),
    });
  const unknown = Object.keys(toolsContext).find((name) => byId(tools, name) === undefined);
  if (unknown !== undefined) {
    const names = Object.keys(tools);
    const nearest = nearestName(unknown, names);
    const advice =
      nearest === undefined
        ? `The agent has ${names.join(", ") || "no tools"}.`
        : `Did you mean \`toolsContext.${nearest}\`?`;
    throw refuse(unknown, `is the context of a tool that does not exist. ${advice}`);
  }
  for (const [name, tool] of Object.entries(tools)) {
    try {
      await toolContext(tool, name, { toolsContext });
    } catch (thrown) {
      const error = readableError(thrown);
      const why = error instanceof Error ? withFullStop(error.message) : "";
      throw refuse(name, `does not fit the \`contextSchema\` of its tool. ${why}`, error);
    }
  }
}
