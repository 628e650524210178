/** What a session says of the size of its context: before each step in the log, and when it is asked. */

import { describe, expect, it } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { billingModel } from "../support/billing-model.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const words = "words and more words of a tale ".repeat(40);

function started(events: readonly SessionEvent[]): readonly SessionEvent<"step.started">["data"][] {
  return events.flatMap((event) => (event.type === "step.started" ? [event.data] : []));
}

const limits = { billing: { contextWindow: 20_000, maxOutputTokens: 4000 } };

describe("the estimate of a step's prompt", () => {
  it("is a guess before the first bill, and follows from the bill from then on", async () => {
    const model = billingModel([calling(call("echo", "1", { value: words })), "One.", "Two."]);
    await using open = await openSession({ model, tools: { echo } });
    await (
      await open.session.send("First.")
    ).result;
    await (
      await open.session.send(words)
    ).result;
    const estimates = started(await open.events()).map(({ estimate }) => estimate);
    expect(estimates.map(({ basis }) => basis)).toEqual(["length", "anchored", "anchored"]);
    const bills = (await open.session.view()).usage.steps.map(({ usage }) => usage.inputTokens);
    for (const [index, { tokens }] of estimates.entries()) {
      if (index === 0) continue;
      expect(Math.abs(tokens - (bills[index] ?? 0)) / (bills[index] ?? 1)).toBeLessThan(0.25);
    }
  });

  it("is the same whether the session was reopened before it or not", async () => {
    const run = async (reopens: boolean): Promise<unknown> => {
      const agent = { model: billingModel(["One.", "Two.", "Three."]), context: { limits } };
      let open = await openSession(agent);
      for (const text of [words, "More.", "Most."]) {
        await (
          await open.session.send(text)
        ).result;
        if (reopens) open = await reopen(open, agent);
      }
      const figures = await open.session.context();
      const estimates = started(await open.events()).map(({ estimate }) => estimate);
      await open.runtime.close();
      const { cost: _, ...rest } = figures;
      return { estimates, rest };
    };
    expect(await run(true)).toEqual(await run(false));
  });
});

describe("the figures of a session's context", () => {
  it("add up, say what they stand on, what room is left, how far the last one was off, and what was spent", async () => {
    const model = billingModel(["One.", "Two."]);
    const agent = { model, instructions: "Be brief.", tools: { echo }, context: { limits } };
    await using open = await openSession(agent);
    const before = await open.session.context();
    expect(before).toMatchObject({
      basis: "estimated",
      model: { provider: "turnlog", modelId: "billing" },
      room: { window: 20_000, outputBuffer: 4000, free: 16_000 - before.tokens },
      spending: { total: { inputTokens: 0, outputTokens: 0 } },
    });
    expect(before.breakdown.instructions).toBeGreaterThan(0);
    expect(before.breakdown.tools).toBeGreaterThan(before.breakdown.instructions);
    await (
      await open.session.send("Go.")
    ).result;
    const after = await open.session.context();
    const [bill] = (await open.session.view()).usage.steps;
    if (bill === undefined) throw new Error("Nothing was billed.");
    expect(after).toMatchObject({
      basis: "measured",
      tokens: bill.usage.inputTokens + bill.usage.outputTokens,
      lastError: { step: 1, billed: bill.usage.inputTokens },
      spending: {
        total: { inputTokens: bill.usage.inputTokens, outputTokens: bill.usage.outputTokens },
      },
      cost: { total: { unpriced: 1 } },
    });
    const { instructions, tools, messages, media } = after.breakdown;
    expect(instructions + tools + messages + media).toBe(after.tokens);
  });

  it("take the user's window before all others, and a reply's limit that was set", async () => {
    const model = billingModel(["One."]);
    await using open = await openSession({
      model,
      maxOutputTokens: 1000,
      context: { limits: { "turnlog:billing": { contextWindow: 8000 } } },
    });
    expect(await open.session.context()).toMatchObject({
      limits: { contextWindow: 8000, maxOutputTokens: 1000 },
      room: { window: 8000, outputBuffer: 1000 },
    });
  });

  it("know the windows and prices of public models, and reckon with a catalogue of the user's own", async () => {
    const known = { ...billingModel(["One."]), provider: "openai", modelId: "gpt-4.1" };
    await using open = await openSession({ model: known });
    await (
      await open.session.send("Go.")
    ).result;
    const { limits: told, cost } = await open.session.context();
    expect(told.contextWindow).toBeGreaterThan(900_000);
    expect(cost.total).toMatchObject({ basis: "measured", unpriced: 0 });
    expect(cost.total.dollars).toBeGreaterThan(0);
    const catalogue = { limits: () => ({ contextWindow: 5000 }), cost: () => 3 };
    await using other = await openSession({
      model: billingModel(["One."]),
      context: { catalogue },
    });
    await (
      await other.session.send("Go.")
    ).result;
    expect(await other.session.context()).toMatchObject({
      limits: { contextWindow: 5000 },
      cost: { total: { dollars: 3 } },
    });
  });
});
