/** What a page gets in this protocol, also when its connection breaks. */

import { tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, type Agent, type Runtime } from "turnlog";
import { gate, scriptedModel } from "turnlog/testing";
import { completionStream } from "./route.ts";

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
  const request = new Request("http://localhost/completions?thread=s", { headers });
  const { body } = await completionStream(runtime, request);
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

const chunkSchema = z.object({
  choices: z.tuple([z.object({ delta: z.looseObject({ content: z.string().optional() }) })]),
});
const contents = (told: readonly Told[]): readonly (string | undefined)[] =>
  told.map(({ event }) => chunkSchema.parse(event).choices[0].delta.content);

test("a page that loses its connection in the middle of a word gets the rest once", async () => {
  const paused = gate();
  await using runtime = await createRuntime({ memory: true, agent: agentOf(paused) });
  const session = await runtime.session("s");
  await session.send("Pay.");
  const asked = await heard(runtime, "tool_calls");
  expect(contents(asked)).toEqual(["Let me ", "pay.", undefined]);
  const { approvals } = await session.atRest();
  await session.approve(approvals[0]?.approvalId ?? "");
  const more = await heard(runtime, '"Pa"', asked.at(-1)?.id);
  paused.open();
  const rest = await heard(runtime, '"stop"', more.at(-1)?.id);
  expect(contents(rest)).toEqual(["id.", undefined]);
  expect([...asked, ...more, ...rest]).toEqual(await heard(runtime, '"stop"'));
});

test("a thread that does not exist, and a cursor that is none, are refused", async () => {
  await using runtime = await createRuntime({ memory: true, agent: agentOf(gate()) });
  await runtime.session("s");
  const status = async (query: string): Promise<number> =>
    (await completionStream(runtime, new Request(`http://localhost/completions?${query}`))).status;
  expect(await status("thread=other")).toBe(404);
  expect(await status("thread=s&after=x")).toBe(400);
});
