/** What a page gets in this protocol, also when its connection breaks. */

import { tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, type Agent, type Runtime } from "turnlog";
import { gate, scriptedModel } from "turnlog/testing";
import { agUiStream } from "./route.ts";

const call = {
  type: "tool-call",
  toolCallId: "c1",
  toolName: "pay",
  input: { amount: 3 },
} as const;
const agentOf = (paused: ReturnType<typeof gate>): Agent => ({
  model: scriptedModel([
    { parts: [{ type: "text", deltas: ["Let me ", "pay."] }, call] },
    { parts: [{ type: "text", deltas: ["Pa", paused, "id."] }] },
  ]),
  tools: { pay: tool({ inputSchema: z.object({ amount: z.number() }), execute: () => "paid" }) },
  toolApproval: { pay: "user-approval" },
});

interface Told {
  readonly id: string | undefined;
  readonly event: unknown;
}

/** The events up to the one whose JSON has a text, as an `EventSource` reads them. */
async function heard(runtime: Runtime, last: string, cursor?: string): Promise<readonly Told[]> {
  const headers = cursor === undefined ? {} : { "last-event-id": cursor };
  const request = new Request("http://localhost/ag-ui?thread=s", { headers });
  const { body } = await agUiStream(runtime, request);
  const told: Told[] = [];
  let rest = "";
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id] = /^id: (\d+)$/m.exec(block) ?? [];
      const [, data = ""] = /^data: (.*)$/m.exec(block) ?? [];
      told.push({ id, event: JSON.parse(data) });
      if (data.includes(last)) return told;
    }
  }
  return told;
}

const types = (told: readonly Told[]): readonly unknown[] =>
  told.map(({ event }) => z.object({ type: z.string() }).parse(event).type);

test("a page that loses its connection in the middle of a word gets the rest once", async () => {
  const paused = gate();
  await using runtime = await createRuntime({ memory: true, agent: agentOf(paused) });
  const session = await runtime.session("s");
  await session.send("Pay.");
  const asked = await heard(runtime, "CUSTOM");
  expect(types(asked)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "CUSTOM",
  ]);
  const { approvals } = await session.view();
  await session.approve(approvals[0]?.approvalId ?? "");
  const more = await heard(runtime, '"Pa"', asked.at(-1)?.id);
  paused.open();
  const rest = await heard(runtime, "RUN_FINISHED", more.at(-1)?.id);
  expect(types(rest)).toEqual(["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
  expect([...asked, ...more, ...rest]).toEqual(await heard(runtime, "RUN_FINISHED"));
});

test("a thread that does not exist, and a cursor that is none, are refused", async () => {
  await using runtime = await createRuntime({ memory: true, agent: agentOf(gate()) });
  await runtime.session("s");
  const status = async (query: string): Promise<number> =>
    (await agUiStream(runtime, new Request(`http://localhost/ag-ui?${query}`))).status;
  expect(await status("thread=other")).toBe(404);
  expect(await status("thread=s&after=x")).toBe(400);
});
