/** `session.bill()`, and the same of a stored session. */

import { expect, it } from "vitest";
import { readBill } from "../../src/public/index.ts";
import { dropOldest } from "../../src/context/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
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
