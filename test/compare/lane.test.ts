/** What a lane has of a session. */

import { APICallError } from "ai";
import { expect, it } from "vitest";
import { call, calling } from "../support/script.ts";
import { lane, lookup, refund } from "./lanes.ts";

const overloaded = new APICallError({
  message: "Overloaded.",
  url: "https://models.example",
  requestBodyValues: {},
  statusCode: 529,
});

it("has turns, steps and calls with their outcomes, tokens, dollars and time", async () => {
  const { turns, steps, totals, agent } = await lane();
  expect(agent?.tools.slice(0, 2)).toEqual(["lookup", "refund"]);
  expect(turns).toMatchObject([
    { turn: 1, message: "What is order 16?", end: "stop", text: "It is 6." },
    { turn: 2, message: "Pay order 17 back.", end: "stop", text: "It is paid back." },
  ]);
  expect(steps.map(({ step, turn, text, end }) => [step, turn, text, end])).toEqual([
    [1, 1, "", "tool-calls"],
    [2, 1, "It is 6.", "stop"],
    [3, 2, "", "tool-calls"],
    [4, 2, "It is paid back.", "stop"],
  ]);
  expect(steps[2]?.calls).toEqual([
    {
      callId: "b",
      toolName: "lookup",
      input: { order: 17 },
      outcome: "succeeded",
      asked: false,
      output: { total: 6, items: ["pen"] },
    },
    {
      callId: "c",
      toolName: "refund",
      input: { order: 17 },
      outcome: "succeeded",
      asked: false,
      output: "Paid.",
    },
  ]);
  expect(steps[1]?.messages().map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  const [one] = steps;
  expect(one?.dollars).toBeCloseTo(
    ((one?.tokens.input ?? 0) * 3 + (one?.tokens.output ?? 0) * 15) / 1_000_000,
  );
  expect(totals).toMatchObject({ steps: 4, calls: 3 });
  for (const figure of ["inputTokens", "outputTokens", "dollars"] as const)
    expect(totals[figure]).toBeGreaterThan(0);
});

it("counts the attempts at a step as one step with the last end", async () => {
  const script = [{ failure: overloaded }, "Here."];
  const { steps, turns } = await lane({ script, messages: ["Hello."] });
  expect(steps).toMatchObject([{ step: 1, attempts: 2, end: "stop", text: "Here." }]);
  expect(turns).toMatchObject([{ end: "stop", text: "Here." }]);
});

it("has the errors of calls and of turns", async () => {
  const broken = lookup({
    execute: () => {
      throw new Error("No such order.");
    },
  });
  const script = [calling(call("lookup", "a", { order: 1 })), { failure: new Error("Gone.") }];
  const { steps, turns } = await lane({
    script,
    messages: ["Hello."],
    tools: { lookup: broken, refund },
  });
  expect(steps).toMatchObject([
    { calls: [{ outcome: "failed", error: "No such order." }] },
    { end: "failed", error: "Gone." },
  ]);
  expect(turns).toMatchObject([{ end: "failed", error: "Gone." }]);
});

it("does not count what a rewind took back", async () => {
  const script = ["One.", "Two.", "Three."];
  const { turns, steps, totals } = await lane({
    script,
    messages: ["First."],
    after: async (session) => {
      const { position } = await session.view();
      await (
        await session.send("Second.")
      ).result;
      await session.rewind({ to: position });
      await (
        await session.send("Third.")
      ).result;
    },
  });
  expect(turns.map(({ message, text }) => [message, text])).toEqual([
    ["First.", "One."],
    ["Third.", "Three."],
  ]);
  expect(steps.map(({ text }) => text)).toEqual(["One.", "Three."]);
  expect(totals.outputTokens).toBe((steps[0]?.tokens.output ?? 0) + (steps[1]?.tokens.output ?? 0));
});
