/** Law 7 over a store: what was spent is in the figures of one session, however often it was forked. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { addUsage, noUsage, spending } from "../../src/projections/index.ts";
import { sessionCost } from "../../src/public/index.ts";
import { gate } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { billingModel } from "../support/billing-model.ts";
import { lawProblems } from "../support/law-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import type { TokenUsage } from "../../src/events/index.ts";

const look = tool({ inputSchema: z.object({}), execute: () => "seen" });

/** What the events of a store say was spent, each event once. */
async function billed({ log }: OpenSession): Promise<TokenUsage> {
  let sum = noUsage;
  for await (const { event } of log.readAll()) {
    if (event.type === "step.finished") {
      const { raw: _, ...usage } = event.data.usage;
      sum = addUsage(sum, usage);
    }
  }
  return sum;
}

describe("the figures of forks", () => {
  it("are their own; over all sessions of a store each step is counted once", async () => {
    const model = billingModel((_, index) =>
      index % 3 === 1 ? calling(call("look", "1")) : `Answer ${index}.`,
    );
    await using open = await openSession({ model, tools: { look } });
    await ask(open.session, "One?");
    await ask(open.session, "Two?");
    const middle = (await open.session.view()).position;
    const fork = await open.session.fork({ id: "f" });
    await ask(fork, "Three?");
    await ask(open.session, "Three, here?");
    const inner = await fork.fork({ id: "g", position: middle + 3 });
    await ask(inner, "Four?");
    await open.session.fork({ id: "h", position: 1 });
    const sessions = await Array.fromAsync(open.runtime.sessions());
    expect(sessions).toHaveLength(4);
    const totals = sessions.map(({ total }) => total);
    expect(totals.reduce(addUsage, noUsage)).toEqual(await billed(open));
    const own = (await fork.view()).usage;
    const shared = (await open.session.at(middle)).usage;
    expect(spending(own)).toMatchObject({ inherited: spending(shared).total });
    expect(spending(own).total.inputTokens).toBeGreaterThan(0);
    expect(own.steps.length).toBeGreaterThan(shared.steps.length);
    for (const session of ["f", "g", "h"])
      expect(lawProblems(await storedEvents(open.log, session))).toEqual([]);
  });

  it("do not have the step in whose middle they branched off: the other session pays for it", async () => {
    const pause = gate();
    const model = billingModel([saying("half", pause, "whole"), "Again."]);
    await using open = await openSession({ model });
    const turn = await open.session.send("Say it.");
    await pause.reached;
    const fork = await open.session.fork({ id: "f" });
    const cut = await fork.view();
    expect(spending(cut.usage).total).toEqual(noUsage);
    expect(cut.summary.total).toEqual(noUsage);
    expect(cut.usage.steps).toHaveLength(1);
    expect(cut.usage.inherited?.total.inputTokens).toBeGreaterThan(0);
    pause.open();
    await turn.result;
    await ask(fork, "Once more.");
    const totals = (await Array.fromAsync(open.runtime.sessions())).map(({ total }) => total);
    expect(totals.reduce(addUsage, noUsage)).toEqual(await billed(open));
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });

  it("cost what they have spent, and tell what was spent before", async () => {
    const model = billingModel(["One.", "Two.", "Three."]);
    await using open = await openSession({ model });
    await ask(open.session, "One?");
    const fork = await open.session.fork({ id: "f" });
    await ask(fork, "Two?");
    const known = {
      catalogue: {
        limits: () => undefined,
        cost: (_: unknown, used: TokenUsage) => used.inputTokens,
      },
    };
    const { usage } = await fork.view();
    const [first, second] = model.taken;
    expect(sessionCost(usage, known)).toMatchObject({
      total: { dollars: second },
      inherited: { dollars: first },
    });
    expect(sessionCost(usage, known, 1).total.dollars).toBe(0);
    expect(sessionCost(usage, known, 2).total.dollars).toBe(second);
  });

  it("base the size of the next prompt on the last bill, also one of the parent", async () => {
    const model = billingModel(["One.", "Two."]);
    await using open = await openSession({ model });
    await ask(open.session, "One?");
    const fork = await open.session.fork({ id: "f" });
    const [here, there] = [await open.session.context(), await fork.context()];
    expect(there.tokens).toBe(here.tokens);
    expect(there.basis).toEqual(here.basis);
  });
});
