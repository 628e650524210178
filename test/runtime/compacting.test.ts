/** Compaction on request, and the end of a session. */

import { describe, expect, it } from "vitest";
import { dropMiddle, dropOldest, tokens, type CompactionStrategy } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { ask } from "../support/asking.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const long = "a long tale ".repeat(50);

describe("compaction", () => {
  it("has the model shown the newest turns only, and the log keeps all of them", async () => {
    const look = calling(call("echo", "1", { value: long }));
    const model = scriptedModel([look, "One.", look, "Two.", "Three."]);
    await using open = await openSession({ model, tools: { echo } });
    await (
      await open.session.send("First.")
    ).result;
    await (
      await open.session.send("Second.")
    ).result;
    const before = await open.session.view();
    const event = await open.session.compact(dropOldest({ keepTurns: 1 }));
    if (event.type !== "context.compacted") throw new Error("It was rejected.");
    expect(event.data.afterTokens).toBeLessThan(0.9 * event.data.beforeTokens);
    const after = await open.session.view();
    expect(after.history).toEqual(before.history);
    expect(after.prompt.messages).toEqual(before.prompt.messages.slice(4));
    expect(promptProblems(after.prompt.messages.slice(0, -1))).toEqual([]);
    await (
      await open.session.send("Third.")
    ).result;
    const prompt = JSON.stringify(model.calls[4]?.prompt);
    expect(prompt).not.toContain("First.");
    expect(prompt).toContain("Second.");
  });

  it.each<[string, CompactionStrategy, object]>([
    ["there is nothing to gain", dropOldest({ keepTurns: 9 }), { why: "nothing-to-gain" }],
    [
      "it would make the prompt longer",
      { name: "wordy", plan: () => ({ covers: { from: 1, to: 5 }, summary: long }) },
      { why: "nothing-to-gain", strategy: "wordy" },
    ],
    [
      "its planner throws",
      {
        name: "broken",
        plan: () => {
          throw new RangeError("lost count");
        },
      },
      {
        why: "failed",
        error: {
          code: "CALLBACK_FAILED",
          message: expect.stringContaining("`strategy.plan` threw: lost count.") as string,
          cause: { name: "RangeError", message: "lost count" },
        },
      },
    ],
  ])("is rejected, and changes nothing, when %s", async (_, strategy, data) => {
    await using open = await openSession({ model: scriptedModel(["One."]) });
    await (
      await open.session.send("First.")
    ).result;
    const { messages: prompt } = (await open.session.view()).prompt;
    const event = await open.session.compact(strategy);
    expect(event).toMatchObject({ type: "context.compaction-rejected", data });
    expect((await open.session.view()).prompt.messages).toEqual(prompt);
  });

  it("takes a message that comes while it is under way at the limit, though no model is asked", async () => {
    const model = scriptedModel(() => "word ".repeat(300));
    const context = { compact: { when: tokens(1000), how: dropMiddle() } };
    await using open = await openSession({ model, context });
    for (const question of ["One?", "Two?", "Three?"]) await ask(open.session, question);
    const first = open.session.send("First.");
    const second = await open.session.send("Second.", { delivery: "steer" });
    await (
      await first
    ).result;
    await second.result;
    const types = await open.types();
    const started = types.lastIndexOf("context.compaction-started");
    expect(types.slice(started, started + 3)).toEqual([
      "context.compaction-started",
      "message.queued",
      "context.compacted",
    ]);
  });

  it("is not tried again before the prompt has grown by a twentieth, however much more is billed than we count", async () => {
    const hidden = 3000;
    const look = (index: number) => call("echo", `${index}`, { value: `${index} ${long}` });
    const model = scriptedModel((_, index) => {
      const total = hidden + 200 * index;
      return {
        parts: index === 60 ? [] : [look(index)],
        usage: {
          inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 50, text: 50, reasoning: 0 },
        },
      };
    });
    // Whether a model can write a summary shows only when it is asked.
    const writes = { name: "writes", plan: () => undefined, writer: { request: () => undefined } };
    const rejectedBy = async (how: CompactionStrategy): Promise<readonly number[]> => {
      const context = { compact: { when: tokens(5000), how } };
      await using open = await openSession({ model, tools: { echo }, maxSteps: 99, context });
      await (
        await open.session.send("Go.")
      ).result;
      return (await open.events()).flatMap((event) =>
        event.type === "context.compaction-rejected" ? [event.data.beforeTokens ?? 0] : [],
      );
    };
    const rejected = await rejectedBy(writes);
    expect(rejected.length).toBeGreaterThan(5);
    const grown = rejected.slice(1).map((tokens, index) => tokens / (rejected[index] ?? 0));
    expect(Math.min(...grown)).toBeGreaterThanOrEqual(1.05);
  });

  it("is not begun where its plan saves nothing, and begins once it does", async () => {
    const look = (index: number) => call("echo", `${index}`, { value: `${index} ${long}` });
    const model = scriptedModel((_, index) => ({
      parts: [index % 20 === 19 ? { type: "text", deltas: ["Done."] } : look(index)],
    }));
    const compact = { when: tokens(5000), how: dropOldest({ keepTurns: 1 }) };
    const agent = {
      model,
      tools: { echo },
      maxSteps: 99,
      context: { compact, prune: false },
    } as const;
    await using open = await openSession(agent);
    const ends = async (): Promise<readonly string[]> =>
      (await open.types()).filter((type) => type.startsWith("context.compact"));
    await (
      await open.session.send("Go.")
    ).result;
    expect((await open.session.context()).due).toBe("compact");
    expect(await ends()).toEqual([]);
    await (
      await open.session.send("Go on.")
    ).result;
    expect(await ends()).toEqual(["context.compaction-started", "context.compacted"]);
  });

  it("cuts a long request to the limit of the trigger where no window is known", async () => {
    const compact = { when: tokens(1000), how: dropOldest({ keepTurns: 1 }) };
    const model = scriptedModel(["One.", "Two."]);
    await using open = await openSession({ model, context: { compact } });
    const cancelled = await open.session.send(long.repeat(20));
    await open.session.cancel();
    await cancelled.result;
    await ask(open.session, "Go on.");
    const [event] = (await open.events()).filter(({ type }) => type === "context.compacted");
    expect(event).toMatchObject({
      data: { summary: expect.stringContaining("left out") as string },
    });
    expect((await open.session.context()).tokens).toBeLessThan(1000);
  });

  it("is recorded in the tokens of session.context(), before and after it, by one scale", async () => {
    // The provider counts a third more than we do, and has told so.
    const look = (index: number) => call("echo", `${index}`, { value: `${index} ${long}` });
    const model = scriptedModel(({ prompt, tools }, index) => {
      const total = Math.round(JSON.stringify([prompt, tools]).length / 3);
      return {
        parts: [index % 2 === 0 ? look(index) : { type: "text", deltas: ["Done."] }],
        usage: {
          inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 40, text: 40, reasoning: 0 },
        },
      };
    });
    await using open = await openSession({ model, tools: { echo } });
    const { session } = open;
    for (let turn = 0; turn < 4; turn++) await (await session.send("Go on.")).result;
    const before = (await session.context()).tokens;
    const nothing = dropOldest({ keepTurns: 9 });
    expect((await session.preview({ compact: nothing })).beforeTokens).toBe(before);
    expect((await session.compact(nothing)).data).toMatchObject({ beforeTokens: before });
    const how = dropOldest({ keepTurns: 1 });
    const preview = await session.preview({ compact: how });
    expect(preview.beforeTokens).toBe(before);
    const { type, data } = await session.compact(how);
    expect({ type, data }).toMatchObject({
      type: "context.compacted",
      data: { beforeTokens: before, afterTokens: preview.afterTokens },
    });
    const after = (await session.context()).tokens;
    expect(after).toBe(preview.afterTokens);
    // What is billed next is near what was told, as our own count is not.
    await (
      await session.send("Go on.")
    ).result;
    const steps = (await open.events()).flatMap((event) =>
      event.type === "step.started"
        ? [event.data.estimate.tokens]
        : event.type === "step.finished"
          ? [event.data.usage.inputTokens]
          : [],
    );
    const [estimated = 0, billed = 0] = steps.slice(-4);
    expect(Math.abs(1 - estimated / billed)).toBeLessThan(0.1);
  });

  it("is rejected where its strategy changes what it is given, which stays as it was", async () => {
    await using open = await openSession({ model: scriptedModel(["One."]) });
    await ask(open.session, "First.");
    const before = await open.session.view();
    const event = await open.session.compact({
      name: "greedy",
      plan: ({ items }) => {
        Object.assign(items, { length: 0 });
        return undefined;
      },
    });
    expect(event).toMatchObject({
      type: "context.compaction-rejected",
      data: { strategy: "greedy", why: "failed" },
    });
    expect((await open.session.view()).history).toEqual(before.history);
  });

  it("is refused while a turn runs", async () => {
    const hold = gate();
    await using open = await openSession({ model: scriptedModel([saying("One ", hold, "two.")]) });
    const turn = await open.session.send("Go.");
    await hold.reached;
    const refused = { code: "COMMAND_REFUSED", session: "s" };
    await expect(open.session.compact(dropOldest({ keepTurns: 1 }))).rejects.toMatchObject(refused);
    await expect(open.session.close()).rejects.toMatchObject(refused);
    hold.open();
    expect(await turn.result).toMatchObject({ text: "One two." });
  });
});

describe("a session that was closed", () => {
  it("can be read, and takes nothing more", async () => {
    await using open = await openSession({ model: scriptedModel(["One."]) });
    const { session } = open;
    const turn = await session.send("Go.");
    await turn.result;
    await session.close("all is said");
    await session.close();
    const events = await open.events();
    expect(events.at(-1)).toMatchObject({
      type: "session.closed",
      data: { reason: "all is said" },
    });
    const closed = { code: "SESSION_CLOSED", session: "s" };
    await expect(session.send("More.")).rejects.toMatchObject(closed);
    await expect(session.compact(dropOldest({ keepTurns: 1 }))).rejects.toMatchObject(closed);
    await expect(session.withdraw(turn.messageId)).rejects.toMatchObject(closed);
    await expect(session.resume()).rejects.toMatchObject(closed);
    expect(await session.cancel()).toMatchObject({ was: "idle", turn: undefined });
    expect((await session.view()).summary).toMatchObject({ status: "closed", turns: 1 });
    expect(await open.events()).toEqual(events);
  });
});
