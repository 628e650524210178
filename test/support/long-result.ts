/** A tool that answers with far more than a window holds, and models that call it. */

import { tool, type ToolSet } from "ai";
import { expect } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/public/index.ts";
import type { ScriptedStep } from "../../src/models/index.ts";
import { billingModel, type BillingModel } from "./billing-model.ts";
import { call, calling } from "./script.ts";
import type { OpenSession } from "./with-runtime.ts";
import type { ContextOptions } from "../../src/agent/index.ts";

export const WINDOW: number = 8000;
export const READER: string = "read_tool_output";

/** 400 KB, of which no two lines are the same. */
export const book: string = Array.from(
  { length: 8000 },
  (_, line) => `Line ${line}: ${"of the long tale ".repeat(2)}🚢`,
).join("\n");

export const tools: ToolSet = {
  fetch: tool({ inputSchema: z.object({ url: z.string() }), execute: () => book }),
};

export function agentOf(model: BillingModel, more: ContextOptions = {}): Agent {
  const limits = { billing: { contextWindow: WINDOW, maxOutputTokens: 1000 } };
  return { model, tools, context: { limits, ...more } };
}

export const fetching: ScriptedStep = calling(call("fetch", "f", { url: "a" }));

/** Fetches the book, and then does and says what is told. */
export function reader(...steps: readonly (string | ScriptedStep)[]): BillingModel {
  return billingModel([fetching, ...steps], { window: WINDOW });
}

export async function turn(open: OpenSession, text = "Read it."): Promise<void> {
  expect(await (await open.session.send(text)).result).toMatchObject({ finishReason: "stop" });
}

/** What the model was shown of the results of a step. */
export function shown(model: BillingModel, index: number, callId: string): string {
  for (const message of model.calls[index]?.prompt ?? []) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result" || part.toolCallId !== callId) continue;
      if (part.output.type === "text" || part.output.type === "error-text")
        return part.output.value;
    }
  }
  throw new Error(`The model was shown no result of ${callId}.`);
}
