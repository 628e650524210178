/** Tools that several tests use, and turns in which they are called. */

import { tool, type Tool, type ToolSet } from "ai";
import { expect } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { calling, type call } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

export const nothing: z.ZodObject = z.object({});

/** Answers what it is given. */
export const echo: Tool<{ readonly value: unknown }, unknown> = tool({
  inputSchema: z.object({ value: z.unknown() }),
  execute: ({ value }: { readonly value: unknown }): unknown => value,
});

export function containing(text: string): unknown {
  return expect.stringContaining(text);
}

/** Runs one turn in which the model makes these calls and then says that it is done. */
export async function turnWith(
  tools: ToolSet,
  ...calls: readonly ReturnType<typeof call>[]
): Promise<OpenSession & { readonly told: readonly unknown[] }> {
  const model = scriptedModel([calling(...calls), "Done."]);
  const open = await openSession({ model, tools });
  const { finishReason } = await (await open.session.send("Go.")).result;
  expect(finishReason).toBe("stop");
  const answer = model.calls[1]?.prompt.find((message) => message.role === "tool");
  const told = (answer?.content ?? []).map((part) =>
    part.type === "tool-result" ? part.output : part,
  );
  return { ...open, told };
}

/** The event with which a call ended. */
export async function endOf(open: OpenSession, callId: string): Promise<unknown> {
  const all = await open.events();
  return all.findLast(
    ({ type, data }) =>
      /^tool\.(succeeded|failed|unknown|denied|skipped)$/.test(type) &&
      "callId" in data &&
      data.callId === callId,
  );
}
