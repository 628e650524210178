/** When a compaction is due, by the estimate of the next prompt. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  aimOf,
  coldCache,
  compactionDue,
  everyTurns,
  idle,
  manual,
  overflow,
  threshold,
  tokens,
  type CompactionFacts,
  type CompactionWhen,
  planBudget,
} from "../../src/context/compaction/compaction-when.ts";
import {
  estimateContext,
  type ContextEstimate,
} from "../../src/context/estimate/context-estimate.ts";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { compactions, history } from "../../src/projections/index.ts";
import { gpt, Session } from "./session.ts";
import { runs } from "../support/runs.ts";

/** An estimate of exactly so many tokens. */
function estimateOf(size: number, contextWindow: number | undefined = 100_000): ContextEstimate {
  const session = new Session();
  session.ask("Go.");
  session.start();
  session.finish({ inputTokens: size, outputTokens: 0 });
  session.end();
  const { history, view, usage, calibration } = session;
  const limits = contextWindow === undefined ? {} : { contextWindow, maxOutputTokens: 20_000 };
  const input = { model: gpt, instructions: "", tools: "", history, view, usage, calibration };
  return estimateContext({ ...input, limits });
}

const unknown = (size: number): ContextEstimate => {
  const { room: _, ...rest } = estimateOf(size);
  return rest;
};

/** In the middle of a turn, unless the facts say otherwise. */
function look(
  when: CompactionWhen,
  estimate: ContextEstimate,
  settled?: number,
  facts: Partial<CompactionFacts> = {},
): string {
  const { tokens, room } = estimate;
  const window = room === undefined ? {} : { window: room.window };
  const known = { history: history.initial, tokens, turns: 0, steps: 1, isCached: true };
  const tried = settled === undefined ? {} : { settled };
  return compactionDue(
    when,
    estimate,
    { ...known, ...window, ...facts },
    { ...compactions.initial, ...tried },
  );
}

describe("when", () => {
  it("overflow: the reply would have no room, and never before", () => {
    expect(look(overflow(), estimateOf(80_000))).toBe("wait");
    expect(look(overflow(), estimateOf(80_001))).toBe("compact");
    expect(look(overflow(), unknown(9_000_000))).toBe("wait");
  });

  it("threshold: more than a share of the window is full, or it overflows", () => {
    expect(look(threshold(0.5), estimateOf(50_000))).toBe("wait");
    expect(look(threshold(0.5), estimateOf(50_001))).toBe("compact");
    expect(look(threshold(1), estimateOf(80_001))).toBe("compact");
    expect(look(threshold(0.5), unknown(9_000_000))).toBe("wait");
  });

  it("tokens: there are more, whatever the window", () => {
    expect(look(tokens(50_000), unknown(50_001))).toBe("compact");
    expect(look(tokens(50_000), estimateOf(50_000))).toBe("wait");
    expect(look(tokens(90_000), estimateOf(80_001))).toBe("compact");
  });

  it("manual: only a warning, when nine tenths of the room are used", () => {
    expect(look(manual(), estimateOf(72_000))).toBe("wait");
    expect(look(manual(), estimateOf(72_001))).toBe("warn");
    expect(look(manual(), estimateOf(99_000))).toBe("warn");
    expect(look(manual(), unknown(99_000))).toBe("wait");
  });

  it("a plan is to leave room below the limit, beside instructions and tools", () => {
    const measure = meter(defaultEstimator, gpt);
    // Of each prompt, three tokens begin the reply.
    const made = estimateOf(60_000);
    const budget = planBudget(aimOf(threshold(0.5), made), made, measure);
    expect(budget).toEqual({
      meter: measure,
      factor: 1,
      messageTokens: 49_997,
      windowTokens: 79_997,
    });
    expect(planBudget(Infinity, unknown(9), measure).messageTokens).toBeUndefined();
  });

  it("a plan has what the fixed parts leave, of the limit and of the window, and never less than nothing", () => {
    const measure = meter(defaultEstimator, gpt);
    const made = estimateOf(60_000);
    const breakdown = { ...made.breakdown, instructions: 1000, tools: 500 };
    const fixed = { ...made, breakdown };
    expect(planBudget(50_000, fixed, measure)).toMatchObject({
      messageTokens: 48_500,
      windowTokens: 78_500,
    });
    expect(planBudget(50_000, fixed, measure, 9000).windowTokens).toBe(7500);
    expect(planBudget(1400, fixed, measure).messageTokens).toBe(0);
    const { factor: _, ...recorded } = made.recorded;
    expect(planBudget(Infinity, { ...made, recorded }, measure).factor).toBe(1);
    const learned = { ...made, recorded: { ...recorded, factor: 1.3 } };
    expect(planBudget(Infinity, learned, measure).factor).toBe(1.3);
    const none = planBudget(Infinity, unknown(9), measure);
    expect(none).toStrictEqual({ meter: measure, factor: 1 });
  });

  it("each rule has a name that says its limit", () => {
    const rules = [overflow(), threshold(0.5), tokens(9), manual()];
    const names = [...rules, everyTurns(3), idle(60), coldCache(1)].map(({ name }) => name);
    const sized = ["overflow", "threshold(0.5)", "tokens(9)", "manual"];
    expect(names).toEqual([...sized, "every-turns(3)", "idle(60)", "cold-cache(1)"]);
  });

  it("after a compaction means by a twentieth of the limit, or of a prompt that is still above it", () => {
    const due = (size: number, settled: number): string =>
      look(tokens(1000), unknown(size), settled);
    expect([due(1040, 990), due(1041, 990)]).toEqual(["wait", "compact"]);
    expect([due(2100, 2000), due(2101, 2000)]).toEqual(["wait", "compact"]);
    expect(due(1001, 0)).toBe("compact");
    expect(due(1000, 0)).toBe("wait");
  });

  it.each([0, -1, 1.1, Number.NaN])("a share of %s is refused", (share) => {
    for (const rule of [threshold, coldCache])
      expect(() => rule(share)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });

  it.each([0, -5, Number.NaN])("%s tokens, turns or milliseconds are refused", (limit) => {
    for (const rule of [tokens, everyTurns, idle])
      expect(() => rule(limit)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });

  it("everyTurns: a turn begins, and so many have ended since", () => {
    const at = (turns: number, steps: number): string =>
      look(everyTurns(3), estimateOf(900), undefined, { turns, steps });
    expect([at(2, 0), at(3, 0), at(4, 0), at(3, 1)]).toEqual([
      "wait",
      "compact",
      "compact",
      "wait",
    ]);
  });

  it("idle: a message begins a turn after such a rest", () => {
    const at = (steps: number, idleMs?: number): string =>
      look(idle(60), unknown(900), undefined, idleMs === undefined ? { steps } : { steps, idleMs });
    expect([at(0), at(0, 59), at(0, 60), at(1, 60)]).toEqual(["wait", "wait", "compact", "wait"]);
  });

  it("coldCache: the cache has forgotten a prompt of such a share of the window", () => {
    const at = (isCached: boolean, estimate: ContextEstimate): string =>
      look(coldCache(0.5), estimate, undefined, { isCached });
    expect(at(false, estimateOf(50_000))).toBe("wait");
    expect(at(false, estimateOf(50_001))).toBe("compact");
    expect(at(true, estimateOf(50_001))).toBe("wait");
    expect(at(false, unknown(9_000_000))).toBe("wait");
  });

  it("whatever a rule says, an overflow is compacted, and a user's own reason waits for growth as well", () => {
    const never: CompactionWhen = { name: "never", limit: () => undefined, due: () => false };
    expect(look(never, estimateOf(80_000))).toBe("wait");
    expect(look(never, estimateOf(80_001))).toBe("compact");
    expect(look({ ...never, limit: () => 900_000 }, estimateOf(80_001))).toBe("compact");
    const always: CompactionWhen = { name: "always", due: () => true };
    expect(look(always, estimateOf(1000))).toBe("compact");
    expect(look(always, estimateOf(1000), 960)).toBe("wait");
    expect(look(always, estimateOf(1000), 940)).toBe("compact");
    // Its plans have the prompt as it is for their limit, else nothing would be left out of a short one.
    expect(aimOf(always, estimateOf(1000))).toBe(1000);
    expect(aimOf(always, estimateOf(90_000))).toBe(80_000);
  });

  it("at the beginning of a turn a prompt that does not fit is compacted anew, and one that fits when it has grown", () => {
    const at = (size: number): string => look(tokens(500), estimateOf(size), size, { steps: 0 });
    expect([at(80_000), at(80_001)]).toEqual(["wait", "compact"]);
  });

  it("what a user has brought back is sent once, unless it does not fit", () => {
    const restored = { ...compactions.initial, isUndone: true } as const;
    const facts = { history: history.initial, tokens: 0, turns: 9, steps: 0, isCached: false };
    const always: CompactionWhen = { name: "always", limit: () => 1, due: () => true };
    const at = (size: number): string => compactionDue(always, estimateOf(size), facts, restored);
    expect([at(80_000), at(80_001)]).toEqual(["wait", "compact"]);
  });

  it("after a compaction waits until the prompt has grown, however large it still is", () => {
    const due = (size: number, settled?: number): string =>
      look(overflow(), estimateOf(size), settled);
    expect(due(90_000)).toBe("compact");
    expect(due(90_000, 88_000)).toBe("wait");
    expect(due(93_000, 88_000)).toBe("compact");
    expect(due(70_000, 60_000)).toBe("wait");
    expect(look(tokens(10), unknown(1000), 990)).toBe("wait");
    expect(look(manual(), estimateOf(90_000), 90_000)).toBe("warn");
  });

  it("never asks for two compactions in a row without growth between them, so that it cannot loop", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 120_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(sizes, fc.double({ min: 0.01, max: 1, noNaN: true }), (prompts, share) => {
        let settled: number | undefined;
        for (const size of prompts) {
          if (look(threshold(share), estimateOf(size), settled) !== "compact") continue;
          // One that saved nothing.
          expect(size).toBeGreaterThan(settled ?? 0);
          settled = size;
        }
      }),
      runs(50),
    );
  });
});
