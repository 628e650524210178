/** What a tool call costs in a step of many, in proportion to one of fewer. */

import { tool } from "ai";
import { z } from "zod";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

/** The CPU of a call among 2,000 by that of one among 500, in a process that is warm. */
export async function callGrowth(): Promise<number> {
  await cpuMsOfCalls(500);
  const few = await cpuMsOfCalls(500);
  const many = await cpuMsOfCalls(2000);
  return many / 2000 / (few / 500);
}

const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

async function cpuMsOfCalls(count: number): Promise<number> {
  const parts = Array.from({ length: count }, (_, n) => ({
    type: "tool-call" as const,
    toolName: "echo",
    toolCallId: `c${n}`,
    input: { n },
  }));
  const model = scriptedModel([{ parts }, "Done."]);
  await using runtime = await createRuntime({ memory: true, agent: { model, tools: { echo } } });
  const session = await runtime.session("s");
  const before = process.cpuUsage();
  await (
    await session.send("Go.")
  ).result;
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
