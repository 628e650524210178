/** Which old tool results are pruned, and when that is worth the provider's cache. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import {
  marksPay,
  planPruning,
  type PruneOptions,
  type PruningPlan,
  promptCache,
  type PromptCache,
} from "../../src/context/shortening/pruning.ts";
import { promptMessages, PRUNED_PLACEHOLDER } from "../../src/projections/index.ts";
import { anySession, play } from "./any-session.ts";
import { problems } from "./next-prompt.ts";
import { gpt, Session } from "./session.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { runs } from "../support/runs.ts";

const measure = meter(defaultEstimator, gpt);
const cold: PromptCache = { warm: false, read: 0.1, write: 1.25, expectedSteps: 3 };
const warm: PromptCache = { ...cold, warm: true };

function plan(
  { history, view }: Session,
  options: PruneOptions = {},
  cache: PromptCache = cold,
  occasion: "step" | "compaction" = "step",
): PruningPlan | undefined {
  return planPruning({ history, view, meter: measure, factor: 1, cache, occasion, options });
}

function prune(session: Session, { calls, savedTokens }: PruningPlan): void {
  session.record({ type: "context.pruned", data: { calls, savedTokens } });
}

const promptOf = ({ history, view }: Session): ReturnType<typeof promptMessages> =>
  promptMessages(history, view);

/** A text of about so many tokens. */
const long = (tokens: number): string => "word ".repeat(tokens / 1.05);

/** Turns with one result of 30,000 tokens each, and a last one without. */
function longSession(turns: number): Session {
  const session = new Session();
  for (let turn = 0; turn < turns; turn++) {
    session.ask(`Request ${turn}.`);
    session.work(long(30_000));
    session.end();
  }
  session.ask("And now?");
  return session;
}

const small: PruneOptions = { protectTokens: 800, minimumGain: 300 };

/** Tokens, if anything too many, of the results that are newer than all that are pruned. */
function tokensAbove(session: Session, chosen: ReadonlySet<string>): number {
  let tokens = 0;
  for (const item of session.history.items.toReversed()) {
    if (item.kind !== "step") continue;
    const calls = item.parts.filter((part) => part.kind === "call").toReversed();
    for (const call of calls) {
      if (call.outcome.status !== "succeeded") continue;
      if (session.isPruned(item.step, call.callId)) continue;
      if (chosen.has(`${item.step} ${call.callId}`)) return tokens;
      tokens += defaultEstimator.text(JSON.stringify(call.outcome.output)) + 10;
    }
  }
  return tokens;
}

describe("pruning, for every session", () => {
  const options = fc.record({
    protectTokens: fc.nat(4000),
    minimumGain: fc.nat(1500),
    keepTools: fc.constantFrom([], ["plan"]),
  });
  const caches = fc.record({
    warm: fc.boolean(),
    read: fc.constantFrom(0.1, 0.5, 1),
    write: fc.constantFrom(1, 1.25, 2),
    expectedSteps: fc.integer({ min: 1, max: 50 }),
  });

  it("protects the newest results and the latest turn, keeps the prompt valid, and comes to an end", () => {
    let planned = 0;
    fc.assert(
      fc.property(anySession, options, caches, (shape, given, cache) => {
        const session = play(shape);
        for (let round = 0; ; round++) {
          const made = plan(session, given, cache);
          expect(plan(session, given, cache)).toEqual(made);
          if (made === undefined) break;
          planned++;
          expect(made.savedTokens).toBeGreaterThanOrEqual(given.minimumGain);
          const steps = session.history.items.filter((item) => item.kind === "step");
          const before = JSON.stringify(promptOf(session));
          for (const { step, callId } of made.calls) {
            const item = steps.findLast((one) => one.step === step);
            expect(item?.turn).toBeLessThan(session.history.turn);
            const call = item?.parts.find((part) => part.kind === "call" && part.callId === callId);
            expect(call).toMatchObject({ outcome: { status: "succeeded" } });
            expect(given.keepTools).not.toContain(call?.kind === "call" ? call.toolName : "");
          }
          const chosen = new Set(made.calls.map(({ step, callId }) => `${step} ${callId}`));
          expect(chosen.size).toBe(made.calls.length);
          expect(tokensAbove(session, chosen)).toBeGreaterThanOrEqual(given.protectTokens);
          prune(session, made);
          expect(JSON.stringify(promptOf(session)).length).toBeLessThan(before.length);
          expect(problems(session)).toEqual([]);
          expect(round).toBeLessThan(40);
        }
      }),
      runs(150),
    );
    expect(planned).toBeGreaterThan(20);
  });
});

describe("pruning", () => {
  it("keeps the newest 40,000 tokens of results and the latest turn, and takes what is older", () => {
    const made = plan(longSession(5));
    expect(made?.calls.map(({ step }) => step).toSorted()).toEqual([1, 2, 3]);
    expect(made?.because).toBe("cold");
    expect(made?.savedTokens).toBeGreaterThan(80_000);
    const session = new Session();
    session.ask("Everything in one turn.");
    for (let step = 0; step < 8; step++) session.work(long(30_000));
    expect(plan(session)).toBeUndefined();
  });

  it("is not done for less than 20,000 tokens", () => {
    const session = new Session();
    for (const tokens of [15_000, 45_000]) {
      session.ask("Go.");
      session.work(long(tokens));
      session.end();
    }
    session.ask("Next.");
    expect(plan(session)).toBeUndefined();
    expect(plan(session, { minimumGain: 10_000 })?.calls).toEqual([{ step: 1, callId: "c0" }]);
  });

  it("never takes the results of a tool that is to be kept, nor what is gone already", () => {
    const session = longSession(4);
    expect(plan(session, { keepTools: ["read"] })).toBeUndefined();
    const made = plan(session);
    if (made === undefined) throw new Error("Nothing was planned.");
    prune(session, made);
    expect(plan(session)).toBeUndefined();
  });

  it("stops at the last summary", () => {
    const session = longSession(6);
    const second = session.history.items.filter((item) => item.turn === 2);
    const [from, to] = [second[0]?.position ?? 0, second.at(-1)?.position ?? 0];
    session.record({
      type: "context.compacted",
      data: {
        strategy: "s",
        covers: { from, to },
        summary: "What was.",
        beforeTokens: 9,
        afterTokens: 1,
      },
    });
    expect(
      plan(session)
        ?.calls.map(({ step }) => step)
        .toSorted(),
    ).toEqual([3, 4]);
  });

  describe("and the provider's cache", () => {
    it("waits while it is warm and the turn will not be long enough to pay for the miss", () => {
      const session = longSession(4);
      expect(plan(session, {}, warm)).toBeUndefined();
      expect(plan(session, {}, warm, "compaction")?.because).toBe("compaction");
      expect(plan(session, {}, { ...warm, expectedSteps: 60 })?.because).toBe("pays");
    });

    it("is weighed by its prices: a cache that saves little is no reason to wait", () => {
      const session = longSession(4);
      const dear = { ...warm, read: 1, write: 1, expectedSteps: 1 };
      expect(plan(session, {}, dear)?.because).toBe("pays");
    });

    it("loses no more than what is gained: old results far back are left where they are", () => {
      const session = new Session();
      session.ask("First.");
      session.work(long(400));
      session.end();
      session.ask(long(60_000));
      session.work(long(30_000));
      session.end();
      session.ask("Next.");
      session.work(long(1000));
      session.end();
      session.ask("And now?");
      const cache = { ...warm, expectedSteps: 2 };
      expect(plan(session, small, cache)?.calls).toEqual([{ step: 2, callId: "c0" }]);
      expect(plan(session, small, cold)?.calls).toHaveLength(2);
    });
  });
});

describe("the bounds of a pruning", () => {
  /** Four characters a token, so that sizes are exact. A result has five tokens around it. */
  const exactly = meter(lengthEstimator, gpt);
  const placeholder = PRUNED_PLACEHOLDER.length / 4;

  function planned(results: readonly number[], options: PruneOptions, factor = 1) {
    const session = new Session();
    for (const length of results) {
      session.ask("Go.");
      session.work("x".repeat(length));
      session.end();
    }
    session.ask("And now?");
    const { history, view } = session;
    return planPruning({
      history,
      view,
      meter: exactly,
      factor,
      cache: cold,
      occasion: "step",
      options,
    });
  }
  const steps = (...given: Parameters<typeof planned>): readonly number[] | undefined =>
    planned(...given)?.calls.map(({ step }) => step);

  it("protect the newest results up to their tokens, one that is partly among them as a whole", () => {
    const sizes = [4000, 400];
    const open = { minimumGain: 0 };
    expect(steps(sizes, { ...open, protectTokens: 102 })).toEqual([1]);
    expect(steps(sizes, { ...open, protectTokens: 103 })).toBeUndefined();
    expect(steps(sizes, { ...open, protectTokens: 0 })).toEqual([2, 1]);
    expect(steps([4000, 400, 400], { ...open, protectTokens: 204 })).toEqual([1]);
    expect(steps(sizes, { ...open, protectTokens: 202 }, 2)).toEqual([1]);
    expect(steps(sizes, { ...open, protectTokens: 203 }, 2)).toBeUndefined();
  });

  it("leave a result that is hardly longer than its placeholder", () => {
    const options = { protectTokens: 0, minimumGain: 0 };
    const least = 4 * (placeholder + 20);
    expect(steps([least], options)).toEqual([1]);
    expect(steps([least - 1], options)).toBeUndefined();
  });

  it("save what the results have more than their placeholders, and no less than is asked", () => {
    const length = 4 * (placeholder + 100);
    const options = { protectTokens: 0 };
    expect(planned([length], { ...options, minimumGain: 100 })?.savedTokens).toBe(100);
    expect(planned([length], { ...options, minimumGain: 101 })).toBeUndefined();
    expect(planned([length, length], { ...options, minimumGain: 101 })?.savedTokens).toBe(200);
    expect(planned([length], { ...options, minimumGain: 200 }, 2)?.savedTokens).toBe(200);
  });

  it("count what was pruned before by its placeholder, among what the cache must take again", () => {
    const cache = { warm: true, read: 1, write: 2, expectedSteps: 1 };
    function prunedBefore(length: number): Session {
      const session = new Session();
      for (const result of [length, 4000, 4000]) {
        session.ask("Go.");
        session.work("x".repeat(result));
        session.end();
      }
      session.ask("And now?");
      const calls = [2, 3].map((step) => ({ step, callId: "c0" }));
      prune(session, { calls, savedTokens: 2000, because: "cold" });
      return session;
    }
    const messages = promptOf(prunedBefore(4000));
    const behind = messages
      .slice(messages.findIndex(({ role }) => role === "tool") + 1)
      // Nothing is counted for a message of results itself.
      .flatMap((message) =>
        message.role === "tool"
          ? message.content.flatMap((part) =>
              part.type === "tool-result" ? exactly.result(part) : [],
            )
          : exactly.message(message),
      )
      .reduce((sum, { text, media, around }) => sum + text + media + around, 0);
    const chosen = (gain: number): readonly number[] | undefined => {
      const { history, view } = prunedBefore(4 * (placeholder + gain));
      const options = { protectTokens: 0, minimumGain: 0 };
      const input = { history, view, meter: exactly, factor: 1, cache, options };
      return planPruning({ ...input, occasion: "step" })?.calls.map(({ step }) => step);
    };
    expect(chosen(behind + 1)).toEqual([1]);
    expect(chosen(behind)).toBeUndefined();
  });
});

describe("the prompt cache", () => {
  const minute = 60_000;
  const claude = { provider: "anthropic", modelId: "claude-opus-4-6" };
  const read = { cacheReadTokens: 900, cacheWriteTokens: 0 };

  function after(billed: object, model = claude): Session {
    const session = new Session();
    session.ask("Go.");
    for (let step = 0; step < 3; step++) {
      session.start(model);
      session.finish(billed, "tool-calls");
    }
    return session;
  }
  const lastAt = (session: Session): number => session.usage.steps.at(-1)?.time ?? 0;
  const cacheOf = (session: Session, later: number, model = claude): PromptCache =>
    promptCache(session.usage, model, {}, lastAt(session) + later);

  it("is warm for as long as the provider keeps it after its last use", () => {
    const session = after(read);
    expect(cacheOf(session, 4 * minute).warm).toBe(true);
    expect(cacheOf(session, 6 * minute).warm).toBe(false);
    const hours = promptCache(
      session.usage,
      claude,
      { cacheLifetimeMs: 60 * minute },
      lastAt(session) + 50 * minute,
    );
    expect(hours.warm).toBe(true);
  });

  it("is cold for another model, before any call, and where the bills tell of none", () => {
    expect(cacheOf(after(read), 0, gpt).warm).toBe(false);
    expect(cacheOf(new Session(), 0).warm).toBe(false);
    expect(cacheOf(after({ cacheReadTokens: 0, cacheWriteTokens: 0 }), 0).warm).toBe(false);
    expect(cacheOf(after({}), 0).warm).toBe(true);
  });

  it("is paid for where a prompt came within its lifetime, or a turn's own steps read it again", () => {
    const pays = (session: Session, later: number, hasTools = false, ttl?: "1h"): boolean =>
      marksPay(session.usage, hasTools, ttl ?? "5m", lastAt(session) + later);
    const steps = after(read);
    expect(pays(steps, 5 * minute)).toBe(true);
    expect(pays(steps, 5 * minute + 1)).toBe(false);
    expect(pays(steps, 60 * minute, false, "1h")).toBe(true);
    expect(pays(steps, 60 * minute + 1, false, "1h")).toBe(false);
    // Two steps that read at a tenth, for a write that costs a quarter more, or twice as much.
    expect(pays(steps, 99 * minute, true)).toBe(true);
    expect(pays(steps, 99 * minute, true, "1h")).toBe(true);
    const single = new Session();
    single.ask("Go.");
    single.start(claude);
    single.finish(read);
    expect(pays(single, 99 * minute, true)).toBe(false);
    expect(pays(new Session(), 0, true)).toBe(true);
    expect(pays(new Session(), 0)).toBe(false);
  });

  it("has the prices of the model, and as many steps to come as a turn has had", () => {
    const prices = { input: 2, output: 8, cacheRead: 0.5, cacheWrite: 2.5 };
    expect(promptCache(after(read).usage, claude, { prices }, 0)).toMatchObject({
      read: 0.25,
      write: 1.25,
      expectedSteps: 3,
    });
  });
});
