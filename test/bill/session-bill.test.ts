/** `session.bill()`, and the same of a stored session. */

import { expect, it } from "vitest";
import { agentTool, readBill, type Agent } from "../../src/public/index.ts";
import { dropOldest } from "../../src/context/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { subAgentsOf } from "../../src/state/index.ts";
import { ask } from "../support/asking.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const word = "word ".repeat(400);

it("has the agent's prices, up to a position; a stored one the given prices", async () => {
  const model = scriptedModel([word, word, word]);
  const limits = { [model.modelId]: { prices: { input: 3, output: 15 } } };
  await using open = await openSession({ model, context: { limits } });
  const { session, log } = open;
  await ask(session, "One?");
  const { position } = await session.view();
  await ask(session, "Two?");
  const bill = await session.bill();
  expect(bill.calls).toHaveLength(2);
  expect(bill.cost).toEqual((await session.context()).cost);
  expect(bill.cost.total.dollars).toBeGreaterThan(0);
  expect(await readBill(log, "s", { limits })).toEqual(bill);
  const first = await session.bill({ position });
  expect(first).toMatchObject({ position, calls: [bill.calls[0]] });
  expect((await readBill(log, "s")).cost.total).toMatchObject({ dollars: 0, unpriced: 2 });
});

it("is computed without a compaction, and only without one that is there", async () => {
  const model = scriptedModel([word, word, "Yes."]);
  const limits = { [model.modelId]: { prices: { input: 3, output: 15 } } };
  await using open = await openSession({ model, context: { limits } });
  const { session } = open;
  await ask(session, "One?");
  await ask(session, "Two?");
  const { type, position } = await session.compact(dropOldest({ keepTurns: 1 }));
  expect(type).toBe("context.compacted");
  await ask(session, "Three?");
  const { cost, whatIf } = await session.bill({ whatIf: { without: [position] } });
  const reply = (word.length / 4) * (3 / 1_000_000);
  expect((whatIf?.dollars ?? 0) - cost.total.dollars).toBeGreaterThan(0.9 * reply);
  expect(whatIf).toMatchObject({ computed: true, tooLong: 0 });
  const wrong = session.bill({ whatIf: { without: [1] } });
  await expect(wrong).rejects.toMatchObject({ code: "INVALID_INPUT", position: 1 });
  await expect(session.bill({ position: 9999 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
});

it("lists what sub-agents of any depth paid, beside its own, once they were called", async () => {
  const limits = { [scriptedModel([]).modelId]: { prices: { input: 3, output: 15 } } };
  const agent = (calls: string, tools: Agent["tools"] = {}): Agent => ({
    model: scriptedModel([calling(call(calls, calls, { task: "Go on." })), word]),
    tools,
    context: { limits },
  });
  const leaf: Agent = { model: scriptedModel([word]), context: { limits } };
  const description = "Helps.";
  const middle = agent("dig", { dig: agentTool({ agent: leaf, description }) });
  const top = agent("look", { look: agentTool({ agent: middle, description }) });
  await using open = await openSession(top);
  await ask(open.session, "Look.");
  const { cost, calls, subAgents = [] } = await open.session.bill();
  expect(calls).toHaveLength(2);
  expect(cost).toEqual((await open.session.context()).cost);
  const bills = await Promise.all(
    subAgents.map(({ session }) => readBill(open.log, session, { limits })),
  );
  expect(subAgents.map(({ toolName, callId, cost: its }) => [toolName, callId, its])).toEqual([
    ["look", "look", bills[0]?.cost.total],
    ["dig", "dig", bills[1]?.cost.total],
  ]);
  expect(bills[1]?.cost.total.dollars).toBeGreaterThan(0);
  const started = (await open.events()).find(({ type }) => type === "tool.started")?.position ?? 0;
  const called = await open.session.subAgents();
  const [below] = called.subAgents;
  expect(called.cost).toEqual(cost.total);
  expect([below?.cost, below?.subAgents[0]?.cost]).toEqual(subAgents.map((one) => one.cost));
  const dollars = [cost.total, ...subAgents.map((one) => one.cost)].map((one) => one.dollars);
  expect(called.totalCost.dollars).toBeCloseTo(
    dollars.reduce((sum, one) => sum + one, 0),
    12,
  );
  expect(await subAgentsOf(open.log, open.session.id, {})).toMatchObject({
    totalCost: { dollars: 0, unpriced: dollars.length + 2 },
  });
  expect(await open.session.bill({ position: started - 1 })).not.toHaveProperty("subAgents");
});
