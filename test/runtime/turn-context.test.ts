/** What a message brings along for its turn: its context, and the async context of its `send`. */

import { AsyncLocalStorage } from "node:async_hooks";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { openMemoryLog, type Agent } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";

const account = z.object({ account: z.string().toUpperCase() });

/** A tool that pays from the account of its context, and who has paid. */
function payment(needsApproval: boolean | ((account: string) => boolean) = false) {
  const paid: string[] = [];
  const pay = tool({
    inputSchema: z.object({}),
    contextSchema: account,
    // Deprecated in favour of a setting of the agent; tools that use it still come.
    // oxlint-disable-next-line typescript/no-deprecated
    needsApproval:
      typeof needsApproval === "boolean"
        ? needsApproval
        : (_, { context }) => needsApproval(context.account),
    execute: (_, { context }): string => {
      paid.push(context.account);
      return "paid";
    },
  });
  return { paid, tools: { pay } };
}

const from = (name: string) => ({ context: { toolsContext: { pay: { account: name } } } });
const pays = calling(call("pay", "1"));

describe.each(["language-model-call", "stream-text"] as const)("with %s", (stepSource) => {
  it("the context of a message reaches the tools of its turn, parsed by their schemas", async () => {
    const told: unknown[] = [];
    const { paid, tools } = payment((name) => name === "ANN");
    const described = Object.assign(tools.pay, {
      description: ({ context }: { context: { account: string } }) =>
        `Pays from ${context.account}`,
      onInputAvailable: ({ context }: { context: { account: string } }) => {
        told.push(context.account);
      },
    });
    const model = scriptedModel([pays, "Paid.", pays, "Paid."]);
    await using open = await openSession({ model, tools: { pay: described } }, { stepSource });
    const turn = await open.session.send("Pay.", from("ann"));
    await seen(open.session, "tool.approval-requested");
    await allow(open.session, "1");
    await turn.result;
    await (
      await open.session.send("Pay.", from("bob"))
    ).result;
    expect(paid).toEqual(["ANN", "BOB"]);
    expect(told).toEqual(["ANN", "BOB"]);
    expect(model.calls.map(({ tools: sent }) => sent?.[0])).toMatchObject([
      { description: "Pays from ann" },
      { description: "Pays from ann" },
      { description: "Pays from bob" },
      { description: "Pays from bob" },
    ]);
    expect(JSON.stringify(await open.events())).not.toMatch(/ann|bob/i);
  });
});

describe("the context of a message", () => {
  it("is refused before the message is accepted, if it does not fit a tool", async () => {
    await using open = await openSession({ model: scriptedModel([]), tools: payment().tools });
    const { session } = open;
    await expect(
      session.send("Pay.", { context: { toolsContext: { pay: { account: 7 } } } }),
    ).rejects.toMatchObject({
      code: "INVALID_INPUT",
      details: { option: "toolsContext.pay" },
    });
    await expect(session.send("Pay.", { context: { toolsContext: { pai: {} } } })).rejects.toThrow(
      "Did you mean `toolsContext.pay`?",
    );
    await expect(
      // @ts-expect-error -- unknown
      session.send("Pay.", { context: { runtime: {} } }),
    ).rejects.toMatchObject({ details: { nearest: "runtimeContext" } });
    expect(await open.types()).not.toContain("message.queued");
  });

  it("replaces the agent's own, for its turn alone", async () => {
    const { paid, tools } = payment();
    const model = scriptedModel([pays, "Paid.", pays, "Paid."]);
    const agent: Agent = { model, tools, toolsContext: { pay: { account: "the house" } } };
    await using open = await openSession(agent);
    await (
      await open.session.send("Pay.", from("ann"))
    ).result;
    await (
      await open.session.send("Pay.")
    ).result;
    expect(paid).toEqual(["ANN", "THE HOUSE"]);
  });

  it("is that of the message that began the turn: one that waits has its own, one that steers has none", async () => {
    const hold = gate();
    const { paid, tools } = payment();
    const model = scriptedModel([
      { parts: [hold, call("pay", "1")] },
      calling(call("pay", "2")),
      "Paid.",
      calling(call("pay", "3")),
      "Paid.",
    ]);
    await using open = await openSession({ model, tools });
    await open.session.send("Pay.", from("ann"));
    await seen(open.session, "step.started");
    const next = await open.session.send("Pay.", from("bob"));
    await open.session.send("Twice.", { ...from("eve"), delivery: "steer" });
    hold.open();
    await next.result;
    expect(paid).toEqual(["ANN", "ANN", "BOB"]);
  });

  it("survives that its session is passivated while a call waits for approval", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { paid, tools } = payment(true);
      const model = scriptedModel([pays, "Paid."]);
      await using open = await openSession({ model, tools }, { idleAfterMs: 100 });
      const turn = await open.session.send("Pay.", from("ann"));
      await open.session.atRest();
      await vi.advanceTimersByTimeAsync(200);
      await allow(open.session, "1");
      await turn.result;
      expect(paid).toEqual(["ANN"]);
    } finally {
      vi.useRealTimers();
    }
  });
});

/** A session that waits for the approval of a payment, after its process died. */
async function afterDeath() {
  const log = await openMemoryLog();
  const mortal = severableLog(log);
  const { tools } = payment(true);
  const before = await openSession(
    { model: scriptedModel([pays]), tools },
    { log: mortal, recovery: "continue" },
  );
  await before.session.send("Pay.", { id: "m", ...from("ann") });
  await seen(before.session, "tool.approval-requested");
  mortal.sever();
  return log;
}

describe("after a restart", () => {
  it("`contextFor` gives the context of the message again, and is asked once", async () => {
    const asked: unknown[] = [];
    const { paid, tools } = payment(true);
    await using open = await openSession(
      { model: scriptedModel(["Paid."]), tools },
      {
        log: await afterDeath(),
        recovery: "continue",
        contextFor: async (...message) => {
          asked.push(message);
          return await Promise.resolve(from("ann again").context);
        },
      },
    );
    await allow(open.session, "1");
    await open.session.idle();
    expect(paid).toEqual(["ANN AGAIN"]);
    expect(asked).toEqual([["s", "m", undefined]]);
  });

  it("sending the message again gives it, too", async () => {
    const { paid, tools } = payment(true);
    const agent = { model: scriptedModel(["Paid."]), tools };
    await using open = await openSession(agent, { log: await afterDeath(), recovery: "continue" });
    await open.session.send("Pay.", { id: "m", ...from("ann once more") });
    await allow(open.session, "1");
    await open.session.idle();
    expect(paid).toEqual(["ANN ONCE MORE"]);
  });

  it.each([
    ["throws", () => Promise.reject(new Error("The directory is down."))],
    ["returns no context", () => "ann" as never],
    ["returns what no tool takes", () => ({ toolsContext: { pay: { account: 7 } } })],
  ])(
    "a `contextFor` that %s fails the turn by name, and never the session",
    async (_, contextFor) => {
      const { paid, tools } = payment(true);
      const agent = { model: scriptedModel(["Paid."]), tools };
      const log = await afterDeath();
      await using open = await openSession(agent, { log, recovery: "continue", contextFor });
      await allow(open.session, "1");
      await open.session.idle();
      expect(paid).toEqual([]);
      const turn = await open.session.send("Again.", from("ann"));
      await expect(turn.result).resolves.toMatchObject({ text: "Paid." });
      const failed = (await open.events()).find(({ type }) => type === "step.failed");
      expect(failed?.data).toMatchObject({ error: { code: "CALLBACK_FAILED" } });
      expect(JSON.stringify(failed?.data)).toContain("`contextFor`");
    },
  );

  it.each([
    ["cancelled", {}],
    ["timed-out", { timeout: 1000 }],
  ] as const)(
    "a `contextFor` that never answers leaves a turn that can be %s",
    async (reason, own) => {
      const asked = Promise.withResolvers<void>();
      const contextFor = async (): Promise<never> => {
        asked.resolve();
        return await new Promise(() => {});
      };
      const agent = { model: scriptedModel(["Paid."]), ...own };
      const timer = (_: number, ring: () => void): Disposable => {
        void asked.promise.then(ring);
        return { [Symbol.dispose]: () => {} };
      };
      await using open = await openSession(agent, {
        contextFor,
        ...(reason === "timed-out" ? { timer } : {}),
      });
      const turn = await open.session.send("Go.");
      await asked.promise;
      if (reason === "cancelled") await open.session.cancel();
      expect((await turn.result).finishReason).toBe(reason);
    },
  );
});

describe("the async context", () => {
  const request = new AsyncLocalStorage<string>();
  /** A tool that tells in whose request it runs. */
  function asking(needsApproval = false) {
    const ran: unknown[] = [];
    const where = tool({
      inputSchema: z.object({}),
      // oxlint-disable-next-line typescript/no-deprecated -- as above
      needsApproval,
      execute: async () => {
        await Promise.resolve();
        ran.push(request.getStore());
      },
    });
    return { ran, tools: { where } };
  }
  const asks = calling(call("where", "1"));

  it("of a tool is that of the `send` that began its turn, also if the message had to wait", async () => {
    const hold = gate();
    const { ran, tools } = asking();
    const model = scriptedModel([{ parts: [hold, call("where", "1")] }, "Here.", asks, "There."]);
    await using open = await openSession({ model, tools });
    await request.run("first", () => open.session.send("Go."));
    const next = await request.run("second", () => open.session.send("Go on."));
    hold.open();
    await next.result;
    expect(ran).toEqual(["first", "second"]);
  });

  it("of an approved call is not that of the person who approves", async () => {
    const { ran, tools } = asking(true);
    await using open = await openSession({ model: scriptedModel([asks, "Here."]), tools });
    const turn = await request.run("a user", () => open.session.send("Go."));
    await seen(open.session, "tool.approval-requested");
    await request.run("a clerk", () => allow(open.session, "1"));
    await turn.result;
    expect(ran).toEqual(["a user"]);
  });

  it("after a restart is nobody's", async () => {
    const log = await openMemoryLog();
    const mortal = severableLog(log);
    const before = await openSession(
      { model: scriptedModel([asks]), tools: asking(true).tools },
      { log: mortal, recovery: "continue" },
    );
    await request.run("a user", () => before.session.send("Go."));
    await seen(before.session, "tool.approval-requested");
    mortal.sever();
    const { ran, tools } = asking(true);
    await request.run("a clerk", async () => {
      const agent = { model: scriptedModel(["Here."]), tools };
      await using open = await openSession(agent, { log, recovery: "continue" });
      await allow(open.session, "1");
      await open.session.idle();
    });
    expect(ran).toEqual([undefined]);
  });
});
