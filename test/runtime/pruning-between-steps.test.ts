/** Old tool results give way to a placeholder before a step, where that is worth the provider's cache. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { manual, overflow, slidingWindow, type Agent } from "../../src/public/index.ts";
import { billingModel } from "../support/billing-model.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const long = "a line of a long result. ".repeat(200);
const HOUR = 3_600_000;

function agentOf(context: NonNullable<Agent["context"]>): Agent {
  const model = billingModel((_, index) =>
    index % 2 === 0 ? calling(call("echo", `${index}`, { value: `${index} ${long}` })) : "Read.",
  );
  return { model, tools: { echo }, context };
}

async function talk(open: OpenSession, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await (
      await open.session.send("Read it.")
    ).result;
  }
}

const prune = { protectTokens: 2000, minimumGain: 1500 };

describe("pruning between steps", () => {
  it("waits while the cache is warm, and is done when it has grown cold", async () => {
    const time = { now: 1_000_000 };
    const agent = agentOf({ prune, compact: false });
    await using open = await openSession(agent, { clock: () => time.now });
    await talk(open, 5);
    expect(await open.types()).not.toContain("context.pruned");
    time.now += HOUR;
    await talk(open, 1);
    const [pruned, ...more] = (await open.events()).filter(({ type }) => type === "context.pruned");
    expect(more).toEqual([]);
    if (pruned?.type !== "context.pruned") throw new Error("Nothing was pruned.");
    expect(pruned.data.calls).toContainEqual({ step: 1, callId: "0" });
    const prompt = JSON.stringify((await open.session.view()).prompt.messages);
    expect(prompt).toContain("[Old tool result content cleared]");
    // The newest results stay.
    expect(prompt).toContain(`10 ${long}`.slice(0, 40));
    await open.session.restore(pruned.position);
    expect(JSON.stringify((await open.session.view()).prompt.messages)).not.toContain(
      "content cleared",
    );
  });

  it("is not done for those who do not want it", async () => {
    const time = { now: 1_000_000 };
    await using open = await openSession(agentOf({ prune: false, compact: false }), {
      clock: () => time.now,
    });
    await talk(open, 5);
    time.now += HOUR;
    await talk(open, 1);
    expect(await open.types()).not.toContain("context.pruned");
  });

  const limits = { billing: { contextWindow: 14_000, maxOutputTokens: 2000 } };
  const compact = { when: overflow(), how: slidingWindow() };

  it("comes with a compaction that is due, which is not needed if half of the limit is free then", async () => {
    const read = tool({ inputSchema: z.object({}), execute: () => long });
    const model = billingModel((_, index) =>
      index % 2 === 0 ? calling(call("read", `${index}`)) : "Read.",
    );
    const context = { prune, compact, limits };
    await using open = await openSession({ model, tools: { read }, context });
    await talk(open, 11);
    const events = await open.events();
    const at = events.findIndex(({ type }) => type === "context.compaction-started");
    expect(events[at + 1]?.type).toBe("context.pruned");
    expect(events[at + 2]).toMatchObject({
      type: "context.compaction-rejected",
      data: { why: "not-needed" },
    });
  });

  it("makes one large cut with the compaction where it frees less, so that the next overflow is far", async () => {
    await using open = await openSession(agentOf({ prune, compact, limits }));
    await talk(open, 40);
    const types = (await open.types()).filter((type) => /pruned|compact/.test(type));
    const cut = ["context.compaction-started", "context.pruned", "context.compacted"];
    expect(types.length).toBeGreaterThan(cut.length);
    expect(types).toEqual(Array.from({ length: types.length / 3 }, () => cut).flat());
  });
});

describe("a session that is only to be warned", () => {
  it("is never compacted by itself, and says when its room comes to an end", async () => {
    const limits = { billing: { contextWindow: 14_000, maxOutputTokens: 2000 } };
    const agent = agentOf({
      prune: false,
      compact: { when: manual(), how: slidingWindow() },
      limits,
    });
    await using open = await openSession(agent);
    expect((await open.session.context()).due).toBe("wait");
    await talk(open, 8);
    expect(await open.types()).not.toContain("context.compaction-started");
    expect((await open.session.context()).due).toBe("warn");
    expect(await open.session.compact()).toMatchObject({
      type: "context.compacted",
      data: { strategy: "sliding-window" },
    });
  });
});
