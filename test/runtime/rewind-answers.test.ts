/** The answers of commands that move the head: what was left, what it did and cost, and who is too late. */

import { Output, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent, Turn } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

const pay = tool({ inputSchema: z.object({}), execute: () => "paid" });

/** An agent whose model has a price. */
function priced(steps: readonly ScriptedStep[]): Agent {
  const model = scriptedModel([...steps]);
  const limits = { [model.modelId]: { prices: { input: 1, output: 10 } } };
  return { model, tools: { pay }, context: { limits } };
}

const payment = [calling(call("pay", "1")), "Paid."];

async function say({ session }: OpenSession, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) await (await session.send(id, { id })).result;
}

describe("the answer of a command that moves the head", () => {
  it("lists effects, tokens and money of what is left, and what comes back is no longer left", async () => {
    await using open = await openSession(priced([...payment, "Again."]));
    await say(open, "a");
    const { spending, cost } = await open.session.context();
    const rewound = await open.session.rewind({ beforeTurn: 1 });
    expect(rewound.effects).toMatchObject([{ toolName: "pay", status: "succeeded" }]);
    expect(rewound.cost).toEqual(cost.total);
    expect(rewound.cost?.dollars).toBeGreaterThan(0);
    expect(rewound.usage).toEqual(spending.total);
    await say(open, "b");
    const back = await open.session.checkout(1);
    expect(back).toMatchObject({ turns: [2], effects: [] });
    expect(back.cost?.dollars).toBeLessThan(rewound.cost?.dollars ?? 0);
    expect(back.cost?.dollars).toBeGreaterThan(0);
    // What was left is still paid for.
    const { cost: all } = await open.session.context();
    expect(all.total.dollars).toBeGreaterThan(rewound.cost?.dollars ?? 0);
  });

  it.each<[string, (open: OpenSession) => Promise<Turn>]>([
    ["an edit", ({ session }) => session.send("b", { id: "b", replaces: "a" })],
    ["a regeneration", ({ session }) => session.regenerate({ idempotencyKey: "k" })],
  ])(
    "comes with the turn of %s, also to a client that asks again, after a restart",
    async (_, act) => {
      const agent = priced([...payment, "Again."]);
      await using open = await openSession(agent);
      await say(open, "a");
      const turn = await act(open);
      expect((await turn.result).text).toBe("Again.");
      const replaced = await turn.replaced;
      expect(replaced).toMatchObject({
        turns: [1],
        effects: [{ toolName: "pay" }],
        branch: replaced?.position,
      });
      expect(replaced?.cost?.dollars).toBeGreaterThan(0);
      expect(replaced?.usage.inputTokens).toBeGreaterThan(0);
      expect(await (await act(open)).replaced).toEqual(replaced);
      await using again = await reopen(open, agent);
      expect(await (await act(again)).replaced).toEqual(replaced);
      expect(await (await again.session.turn(turn.messageId)).replaced).toEqual(replaced);
    },
  );

  it("is nothing for a turn that replaces nothing, also once it was left", async () => {
    await using open = await openSession({ model: scriptedModel(["One.", "Two."]) });
    const turn = await open.session.send("a", { id: "a" });
    await turn.result;
    await open.session.rewind({ beforeTurn: 1 });
    expect(await turn.replaced).toBeUndefined();
    const next = await open.session.send("b");
    await next.result;
    expect(await next.replaced).toBeUndefined();
  });

  it("counts a call whose outcome is unknown", async () => {
    const begun = Promise.withResolvers<void>();
    const slow = tool({
      inputSchema: z.object({}),
      execute: async () => {
        begun.resolve();
        await new Promise(() => {});
      },
    });
    const model = scriptedModel([calling(call("slow", "1")), "Well."]);
    await using open = await openSession({ model, tools: { slow } });
    await open.session.send("a", { id: "a" });
    await begun.promise;
    const turn = await open.session.send("b", { replaces: "a" });
    expect((await turn.replaced)?.effects).toMatchObject([{ toolName: "slow", status: "unknown" }]);
    await turn.result;
  });
});

describe("regenerate", () => {
  it("takes a context, options and an output for the turn, as `send` does", async () => {
    const seen: unknown[] = [];
    const model = scriptedModel(["One.", '{"city":"Rome"}']);
    await using open = await openSession({
      model,
      callOptionsSchema: z.object({ tone: z.string() }),
      prepareCall: ({ options, ...rest }) => {
        seen.push(options);
        return rest;
      },
      prepareStep: ({ runtimeContext }) => {
        seen.push(runtimeContext);
        return {};
      },
    });
    const values = (name: string) => ({
      context: { runtimeContext: { name } },
      options: { tone: name },
    });
    await (
      await open.session.send("a", { id: "a", ...values("first") })
    ).result;
    const output = Output.object({ schema: z.object({ city: z.string() }) });
    const again = await open.session.regenerate({ ...values("second"), output });
    expect((await again.result).output).toEqual({ city: "Rome" });
    expect(seen).toEqual([
      { tone: "first" },
      { name: "first" },
      { tone: "second" },
      { name: "second" },
    ]);
    const wrong = open.session.regenerate({ options: { tone: 5 } });
    await expect(wrong).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(wrong).rejects.toThrow("regenerate");
    expect((await open.session.branches()).length).toBe(2);
  });

  it("asks `contextFor` anew when nothing is given", async () => {
    const asked: string[] = [];
    const model = scriptedModel(["One.", "Two."]);
    const contextFor = (_: string, id: string) => {
      asked.push(id);
      return { runtimeContext: {} };
    };
    await using open = await openSession({ model }, { contextFor });
    await say(open, "a");
    await (
      await open.session.regenerate()
    ).result;
    expect(asked).toEqual(["a", "a"]);
  });

  it("gives an edit's values to the turn, also where another message begins it", async () => {
    const stop = gate();
    const seen: unknown[] = [];
    const model = scriptedModel([saying(stop, "One."), "Both.", "New."]);
    await using open = await openSession({
      model,
      prepareStep: ({ runtimeContext }) => {
        seen.push(runtimeContext);
        return {};
      },
    });
    await open.session.send("a", { id: "a" });
    await open.session.send("b", { id: "b" });
    await open.session.send("c", { id: "c" });
    stop.open();
    await open.session.idle();
    const context = { runtimeContext: { edited: true } };
    await (
      await open.session.send("c2", { replaces: "c", context })
    ).result;
    expect(seen.at(-1)).toEqual({ edited: true });
  });
});

describe("basedOn", () => {
  it("of a message notices another reply to it; the turn names that one", async () => {
    const model = scriptedModel(["One.", "Two.", "Three.", "Four."]);
    await using open = await openSession({ model });
    const { session } = open;
    await say(open, "a", "b");
    await (
      await session.regenerate({ basedOn: { messageId: "b" } })
    ).result;
    const stale = session.rewind({ beforeTurn: 3, basedOn: { messageId: "b" } });
    await expect(stale).rejects.toMatchObject({
      code: "STALE",
      details: { head: { turn: 3, messageId: "b" } },
    });
    await (
      await session.regenerate({ basedOn: { turn: 3 } })
    ).result;
    await expect(session.send("c", { basedOn: { turn: 3 } })).rejects.toMatchObject({
      code: "STALE",
    });
    // A client that saw the first reply sees it again.
    await session.checkout(1);
    await session.rewind({ beforeMessage: "b", basedOn: { messageId: "b" } });
    await expect(session.checkout(1, { basedOn: { messageId: "b" } })).rejects.toMatchObject({
      code: "STALE",
      details: { head: { turn: 1, messageId: "a" } },
    });
    await session.checkout(1, { basedOn: { messageId: "a" } });
  });
});

it("two regenerations with one key that come at once are one", async () => {
  await using open = await openSession({ model: scriptedModel(() => "Said.") });
  await say(open, "a");
  const again = { idempotencyKey: "k" };
  const turns = await Promise.all([again, again].map((one) => open.session.regenerate(one)));
  const results = await Promise.all(turns.map(({ result }) => result));
  expect(results.map(({ turn }) => turn)).toEqual([2, 2]);
  expect((await open.types()).filter((type) => type === "session.rewound")).toHaveLength(1);
});
