/** The provider says that a prompt is too long, whatever our estimate was. */

import { describe, expect, it } from "vitest";
import { overflow, slidingWindow, summarize } from "../../src/public/index.ts";
import type { CompactionChoice } from "../../src/agent/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { billingModel, tooLong, type BillingModel } from "../support/billing-model.ts";
import { saying } from "../support/script.ts";
import { summariser, waitingSummariser } from "../support/summarisers.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

const words = "words and more words of a long tale ".repeat(100);

/** The provider's window is nowhere told before it refuses. */
function talker(window: number): BillingModel {
  return billingModel((_, index) => `Answer ${index}.`, { window });
}

async function tell(open: OpenSession, turns: number): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    await (
      await open.session.send(`Tale ${turn}: ${words}`)
    ).result;
  }
}

const choices: readonly [string, CompactionChoice][] = [
  ["a summary", { when: overflow(), how: summarize({ model: summariser("honest") }) }],
  ["a sliding window", { when: overflow(), how: slidingWindow() }],
];

describe("a prompt that the provider refuses as too long", () => {
  it.each(choices)(
    "is compacted by %s and sent once more, and the window is learned",
    async (_, compact) => {
      const model = talker(5000);
      await using open = await openSession({ model, context: { compact } });
      await tell(open, 6);
      const types = (await open.types()).filter(
        (type) => type === "step.started" || type.startsWith("context."),
      );
      const at = types.indexOf("context.overflowed");
      expect(types.slice(at, at + 4)).toEqual([
        "context.overflowed",
        "context.compaction-started",
        "context.compacted",
        "step.started",
      ]);
      const started = (await open.events()).find(
        (event) => event.type === "step.started" && event.data.attempt === 2,
      );
      expect(started).toBeDefined();
      expect((await open.session.context()).limits.contextWindow).toBe(5000);
      // From then on it is kept in mind.
      await tell(open, 10);
      expect(model.refused).toBe(1);
      expect(Math.max(...model.taken)).toBeLessThanOrEqual(5000);
    },
  );

  it("is sent with nothing but its turn when the second one is refused too, and then fails for good", async () => {
    const model = scriptedModel((_, index) =>
      index < 3 ? `Answer ${index}.` : { failure: tooLong(9000, 8000) },
    );
    const compact = { when: overflow(), how: slidingWindow({ tokens: 2000 }) };
    await using open = await openSession({ model, context: { compact } });
    await tell(open, 3);
    const turn = await open.session.send("And now?");
    await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
    const types = await open.types();
    expect(types.filter((type) => type === "context.overflowed")).toHaveLength(2);
    const by = (await open.events()).flatMap((event) =>
      event.type === "context.compacted" ? [event.data.strategy] : [],
    );
    expect(by).toEqual(["sliding-window", "only-this-turn"]);
    const failed = (await open.events()).find((event) => event.type === "step.failed");
    expect(failed?.data).toMatchObject({ kind: "context-overflow" });
    expect(model.calls).toHaveLength(6);
    expect(model.calls.at(-1)?.prompt.slice(1)).toMatchObject([
      { role: "user", content: [{ text: "And now?" }] },
    ]);
  });

  it.each<[string, CompactionChoice | false]>([
    ["there is nothing to leave out", { when: overflow(), how: slidingWindow() }],
    ["nobody wants it compacted", false],
  ])("fails without another try when %s", async (_, compact) => {
    const model = scriptedModel([{ failure: tooLong(9000, 8000) }]);
    await using open = await openSession({ model, context: { compact } });
    const turn = await open.session.send("Hello.");
    await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
    expect(model.calls).toHaveLength(1);
    const { steps } = (await open.session.view()).usage;
    expect(steps.map(({ usage }) => usage.inputTokens)).toEqual([0]);
  });

  it("is not sent again once the model has said something", async () => {
    const model = scriptedModel([
      {
        parts: [
          { type: "text", deltas: ["Well, "] },
          { type: "break", error: tooLong(9, 8) },
        ],
      },
    ]);
    await using open = await openSession({ model });
    const turn = await open.session.send("Hello.");
    await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
    expect(await open.types()).not.toContain("context.overflowed");
  });
});

describe("a summary that is being written", () => {
  it("is given up when the turn is cancelled, and the prompt stays as it was", async () => {
    const { model: writer, hold } = waitingSummariser();
    const model = talker(5000);
    const compact = { when: overflow(), how: summarize({ model: writer }) };
    await using open = await openSession({ model, context: { compact } });
    await tell(open, 4);
    await open.session.send(`More: ${words.repeat(2)}`);
    await hold.reached;
    const before = await open.session.view();
    expect(await open.session.cancel()).toMatchObject({ was: "compacting", ended: "cancelled" });
    const rejected = (await open.events()).find(
      (event) => event.type === "context.compaction-rejected",
    );
    expect(rejected?.data).toMatchObject({ why: "cancelled" });
    const after = await open.session.view();
    expect(after.prompt).toEqual(before.prompt);
    // What the writer was asked has its price.
    expect((await open.session.context()).spending.compactions.inputTokens).toBeGreaterThan(0);
  });

  it("is given up when its process dies, and asked for anew when the turn continues", async () => {
    const { model: writer, hold } = waitingSummariser();
    const compact = { when: overflow(), how: summarize({ model: writer }) };
    const first = await openSession({ model: talker(5000), context: { compact } });
    await tell(first, 4);
    await first.session.send(`More: ${words.repeat(2)}`);
    await hold.reached;
    // Its runtime is never closed, as if the process had been killed.
    const again = { when: overflow(), how: summarize({ model: summariser("honest") }) };
    const agent = { model: talker(5000), context: { compact: again } };
    await using open = await openSession(agent, { log: first.log, recovery: "continue" });
    await open.session.idle();
    const types = await open.types();
    expect(types.filter((type) => type === "context.compacted")).toHaveLength(1);
    expect(types.at(-1)).toBe("turn.ended");
  });

  it("lets the turn that was sent meanwhile begin when a session at rest is compacted", async () => {
    const hold = gate();
    const writer = scriptedModel([saying("not a summary", hold), "no", "no"]);
    const model = talker(50_000);
    await using open = await openSession({ model });
    await tell(open, 3);
    const compacting = open.session.compact(summarize({ model: writer, keepTokens: 500 }));
    await hold.reached;
    const turn = await open.session.send("Still there?");
    hold.open();
    expect(await compacting).toMatchObject({ type: "context.compacted", data: { rung: "digest" } });
    expect(await turn.result).toMatchObject({ finishReason: "stop" });
  });

  it("asks for less when the writer's own window is too small, and says so", async () => {
    const model = talker(50_000);
    const told = await openSession({ model });
    await tell(told, 6);
    const writer = summariser("honest", 2500);
    await using open = await reopen(told, { model });
    const event = await open.session.compact(summarize({ model: writer, keepTokens: 500 }));
    expect(event).toMatchObject({ type: "context.compacted", data: { rung: "newest" } });
    const refused = (await open.events()).flatMap((one) =>
      one.type === "context.summary-rejected" ? [[one.data.rung, one.data.why]] : [],
    );
    expect(refused).toEqual([
      ["whole", "overflow"],
      ["capped", "overflow"],
    ]);
    const limits = { summariser: { contextWindow: 2500 } };
    await tell(open, 6);
    await using knowing = await reopen(open, { model, context: { limits } });
    await knowing.session.compact(summarize({ model: writer, keepTokens: 500 }));
    const whys = (await knowing.events()).flatMap((one) =>
      one.type === "context.summary-rejected" ? [one.data.why] : [],
    );
    expect(whys.slice(2, 3)).toEqual(["no-room"]);
  });
});
