/** A count before a prompt is shortened: what it changes, and that nothing depends on its coming. */

import { describe, expect, it } from "vitest";
import { openMemoryLog, summarize, tokens, type SessionEvent } from "../../src/public/index.ts";
import type { CountRequest } from "../../src/agent/index.ts";
import type { Timer } from "../../src/shared/index.ts";
import { systemTimer } from "../../src/shared/index.ts";
import type { ScriptedStep } from "../../src/models/index.ts";
import { tooLong } from "../support/billing-model.ts";
import { answers, counter, countingAgent, LIMIT, tale } from "../support/counting-agent.ts";
import { severableLog } from "../support/severed-log.ts";
import { waitingSummariser } from "../support/summarisers.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

async function tell({ session }: OpenSession, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await (
      await session.send(`Tale: ${tale}`)
    ).result;
  }
}

/** What was done about the context, and where steps began. */
async function decisions(open: OpenSession): Promise<readonly SessionEvent[]> {
  return (await open.events()).filter(
    ({ type }) => type.startsWith("context.") || type === "step.started",
  );
}

const typesOf = (events: readonly SessionEvent[]): readonly string[] =>
  events.map(({ type }) => type);

/** As long as the tales fit, by the estimate. */
const fitting = ["step.started", "step.started", "step.started"];

describe("a compaction that the estimate wants", () => {
  it("is not done when the prompt is counted and fits, and the step builds on the count", async () => {
    const clerk = counter(() => 700);
    await using open = await openSession(countingAgent(clerk));
    await tell(open, 3);
    expect(clerk.asked).toEqual([]);
    await tell(open, 1);
    const [started, counted, rejected, step] = (await decisions(open)).slice(3);
    expect(started).toMatchObject({
      type: "context.compaction-started",
      data: { trigger: "limit" },
    });
    expect(counted).toMatchObject({
      type: "context.counted",
      data: { counter: "clerk", tokens: 700, model: { modelId: "scripted" } },
    });
    expect(rejected).toMatchObject({
      type: "context.compaction-rejected",
      data: { why: "not-needed", beforeTokens: 700 },
    });
    expect(step).toMatchObject({
      type: "step.started",
      data: { estimate: { tokens: 700, basis: "counted" } },
    });
    expect(
      JSON.stringify((await open.session.view()).prompt.messages).split("Tale: "),
    ).toHaveLength(5);
    const [request] = clerk.asked;
    expect(request?.instructions).toBe("You listen.");
    expect(request?.messages).toHaveLength(7);
    // What came since is guessed: the reply, which nobody has billed.
    expect(await open.session.context()).toMatchObject({
      basis: "anchored",
      since: { input: 700, output: 0, removed: 0 },
    });
  });

  it("is done when the prompt is counted and does not fit", async () => {
    const clerk = counter(() => LIMIT + 1);
    await using open = await openSession(countingAgent(clerk));
    await tell(open, 4);
    expect(typesOf(await decisions(open))).toEqual([
      ...fitting,
      "context.compaction-started",
      "context.counted",
      "context.compacted",
      "step.started",
    ]);
    expect(clerk.asked).toHaveLength(1);
    // Before and behind it is told by one measure, which is that of the count.
    const compacted = (await decisions(open)).find(({ type }) => type === "context.compacted");
    if (compacted?.type !== "context.compacted") throw new Error("It was not compacted.");
    expect(compacted.data).toMatchObject({
      beforeTokens: LIMIT + 1,
      scale: expect.any(Number) as number,
    });
    expect(compacted.data.afterTokens).toBeLessThan(0.9 * LIMIT);
  });

  it("is asked about once a step, and again only when what came since may be too much", async () => {
    const clerk = counter(() => 700);
    await using open = await openSession(countingAgent(clerk));
    await tell(open, 4);
    // 700, and 330 that are guessed: more than the limit, and yet perhaps not.
    await tell(open, 1);
    const last = (await decisions(open)).slice(7);
    expect(typesOf(last)).toEqual([
      "context.compaction-started",
      "context.counted",
      "context.compaction-rejected",
      "step.started",
    ]);
    expect(clerk.asked).toHaveLength(2);
  });

  it("is done without a count where one could not change that", async () => {
    const clerk = counter(() => 1);
    await using open = await openSession(countingAgent(clerk));
    await tell(open, 1);
    // More than twice the limit.
    await (
      await open.session.send(tale.repeat(7))
    ).result;
    expect(typesOf(await decisions(open))).toContain("context.compaction-started");
    expect(clerk.asked).toEqual([]);
  });

  it("is done without a count where the provider has billed that very prompt", async () => {
    const clerk = counter(() => 1);
    const [first, ...more] = answers(3);
    const usage = {
      inputTokens: { total: 4000, noCache: 4000, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    };
    await using open = await openSession(countingAgent(clerk, [{ ...first, usage }, ...more]));
    await tell(open, 2);
    expect(typesOf(await decisions(open))).toContain("context.compaction-started");
    expect(clerk.asked).toEqual([]);
  });

  it("is done without a count when somebody asks for it, or the provider has refused the prompt", async () => {
    const clerk = counter(() => 1);
    const refused: ScriptedStep = { failure: tooLong(9000, 8000) };
    const steps = [...answers(2), refused, ...answers(1)];
    await using open = await openSession(countingAgent(clerk, steps));
    await tell(open, 3);
    await open.session.compact();
    expect(
      (await open.types()).filter((type) => type === "context.compaction-started"),
    ).toHaveLength(2);
    expect(clerk.asked).toEqual([]);
  });
});

describe("a counter", () => {
  it.each<[string, (request: CountRequest) => unknown, string]>([
    [
      "throws",
      () => {
        throw new Error("https://p answered 503: busy");
      },
      "https://p answered 503: busy",
    ],
    ["rejects", () => Promise.reject(new TypeError("fetch failed")), "fetch failed"],
    [
      "answers no number",
      () => "many",
      "The counter clerk returned many, which is not a number of tokens.",
    ],
    [
      "answers NaN",
      () => Number.NaN,
      "The counter clerk returned NaN, which is not a number of tokens.",
    ],
    ["answers nothing", () => 0, "The counter clerk returned 0, which is not a number of tokens."],
    [
      "answers less than nothing",
      () => -700,
      "The counter clerk returned -700, which is not a number of tokens.",
    ],
    [
      "answers a part of a token",
      () => 0.5,
      "The counter clerk returned 0.5, which is not a number of tokens.",
    ],
  ])(
    "that %s fails no step: that is recorded, and the estimate decides",
    async (_, answer, message) => {
      const clerk = counter(answer);
      await using open = await openSession(countingAgent(clerk));
      await tell(open, 4);
      const done = await decisions(open);
      expect(typesOf(done)).toEqual([
        ...fitting,
        "context.compaction-started",
        "context.count-failed",
        "context.compacted",
        "step.started",
      ]);
      expect(done[4]?.data).toMatchObject({ counter: "clerk", error: { message } });
      expect(clerk.asked).toHaveLength(1);
    },
  );

  it("that never answers is awaited until its time limit, and aborted", async () => {
    const clerk = counter(() => new Promise(() => {}), 5000);
    const waits: number[] = [];
    const timer: Timer = (milliseconds, due, wait) => {
      if (wait.kind !== "count") return systemTimer(milliseconds, due, wait);
      waits.push(milliseconds);
      queueMicrotask(due);
      return { [Symbol.dispose]: () => {} };
    };
    await using open = await openSession(countingAgent(clerk), { timer });
    await tell(open, 4);
    expect(waits).toEqual([5000]);
    expect(clerk.asked[0]?.signal.aborted).toBe(true);
    expect((await decisions(open))[4]).toMatchObject({
      type: "context.count-failed",
      data: {
        error: { name: "TimeoutError", message: "The counter clerk took longer than 5000 ms." },
      },
    });
    expect(await open.types()).toContain("context.compacted");
  });

  it("that counts too few is found out by the provider, and is not asked again in that step", async () => {
    const clerk = counter(() => 10);
    const steps = [...answers(3), { failure: tooLong(9000, 8000) }, ...answers(1)];
    await using open = await openSession(countingAgent(clerk, steps));
    await tell(open, 4);
    expect(typesOf(await decisions(open)).slice(3)).toEqual([
      "context.compaction-started",
      "context.counted",
      "context.compaction-rejected",
      "step.started",
      "context.overflowed",
      "context.compaction-started",
      "context.compacted",
      "step.started",
    ]);
    expect(clerk.asked).toHaveLength(1);
  });

  it("is not waited for once the turn is cancelled, and what was said to it is kept as it was", async () => {
    const reached = Promise.withResolvers<CountRequest>();
    const clerk = counter((request) => {
      reached.resolve(request);
      return new Promise(() => {});
    });
    await using open = await openSession(countingAgent(clerk));
    await tell(open, 3);
    const turn = await open.session.send(tale);
    const { signal } = await reached.promise;
    await open.session.cancel();
    expect(signal.aborted).toBe(true);
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    const done = await decisions(open);
    expect(typesOf(done).slice(3)).toEqual([
      "context.compaction-started",
      "context.compaction-rejected",
    ]);
    expect(done[4]?.data).toMatchObject({ why: "cancelled" });
  });

  it("that failed before the process died is not asked again by the next one in that step", async () => {
    const clerk = counter(() => Number.NaN);
    const { model, hold } = waitingSummariser();
    const agent = countingAgent(clerk);
    const how = summarize({ model, keepTokens: 300 });
    const waiting = {
      ...agent,
      context: { ...agent.context, compact: { when: tokens(LIMIT), how } },
    };
    await using log = await openMemoryLog();
    const mortal = severableLog(log);
    const first = await openSession(waiting, { log: mortal });
    await tell(first, 3);
    await first.session.send(tale);
    await hold.reached;
    mortal.sever();
    await using second = await openSession(agent, { log, recovery: "continue" });
    await second.session.idle();
    expect(typesOf(await decisions(second)).slice(3)).toEqual([
      "context.compaction-started",
      "context.count-failed",
      "context.compaction-rejected",
      "context.compaction-started",
      "context.compacted",
      "step.started",
    ]);
    expect(clerk.asked).toHaveLength(1);
  });
});
