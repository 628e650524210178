// What follows from the types of an agent's tools, and what a call carries.
import { tool, type InferUITools } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import {
  isCallOf,
  type Agent,
  type InferAgentUIMessage,
  type SessionEvent,
} from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const pay = tool({
  inputSchema: z.object({ euros: z.number() }),
  outputSchema: z.object({ paid: z.boolean() }),
  // oxlint-disable-next-line typescript/no-deprecated
  needsApproval: true,
  execute: () => ({ paid: true }),
});
const model = () => scriptedModel([calling(call("pay", "c1", { euros: 5 })), "Not paid."]);

describe("types that follow from an agent", () => {
  it("have the inputs and outputs of its tools", () => {
    const agent = { model: model(), tools: { pay } } satisfies Agent;
    type Message = InferAgentUIMessage<typeof agent>;
    type Part = Extract<Message["parts"][number], { type: "tool-pay"; state: "output-available" }>;
    expectTypeOf<Part["input"]>().toEqualTypeOf<{ euros: number }>();
    expectTypeOf<Part["output"]>().toEqualTypeOf<{ paid: boolean }>();
    type Tools = InferUITools<typeof agent.tools>;
    expectTypeOf<Tools["pay"]["input"]>().toEqualTypeOf<{ euros: number }>();
    expect(Object.keys(agent.tools)).toEqual(["pay"]);
  });

  it("narrow the event of a call", async () => {
    await using open = await openSession({ model: model(), tools: { pay } });
    await (await open.session.send("Pay.")).untilRest();
    await open.session.cancel();
    const inputs: number[] = [];
    const invalid: SessionEvent[] = [];
    for (const event of await open.events()) {
      if (isCallOf(event, "pay", pay)) {
        inputs.push(event.data.input.euros);
        invalid.push({ ...event, data: { ...event.data, invalid: true } });
      }
      expect(isCallOf(event, "refund", pay)).toBe(false);
    }
    expect(inputs).toEqual([5]);
    expect(invalid.map((event) => isCallOf(event, "pay", pay))).toEqual([false]);
  });
});

it("a call carries its input, its reason and its approval", async () => {
  await using open = await openSession({ model: model(), tools: { pay } });
  const turn = await open.session.send("Pay.");
  const waiting = await open.session.atRest();
  expect(waiting.toolCalls).toMatchObject([{ input: { euros: 5 }, approvals: [{ attempt: 1 }] }]);
  for (const { approvalId } of waiting.approvals)
    await open.session.deny(approvalId, { reason: "Too much." });
  await turn.result;
  const { toolCalls } = await open.session.view();
  expect(toolCalls).toMatchObject([
    {
      toolName: "pay",
      status: "denied",
      input: { euros: 5 },
      reason: "Too much.",
      approvals: [{ answer: { approved: false, reason: "Too much." } }],
    },
  ]);
});
