/** When a compaction is due, by the estimate of the next prompt. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compactionDue,
  manual,
  overflow,
  threshold,
  tokens,
  type CompactionWhen,
  planBudget,
} from "../../src/context/compaction/compaction-when.ts";
import {
  estimateContext,
  type ContextEstimate,
} from "../../src/context/estimate/context-estimate.ts";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
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

const look = (when: CompactionWhen, estimate: ContextEstimate): string =>
  compactionDue(when, estimate, undefined);

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
    const budget = planBudget(threshold(0.5), made, measure);
    expect(budget).toEqual({
      meter: measure,
      factor: 1,
      messageTokens: 49_997,
      windowTokens: 79_997,
    });
    expect(planBudget(overflow(), unknown(9), measure).messageTokens).toBeUndefined();
  });

  it("a plan has what the fixed parts leave, of the limit and of the window, and never less than nothing", () => {
    const measure = meter(defaultEstimator, gpt);
    const made = estimateOf(60_000);
    const breakdown = { ...made.breakdown, instructions: 1000, tools: 500 };
    const fixed = { ...made, breakdown };
    expect(planBudget(threshold(0.5), fixed, measure)).toMatchObject({
      messageTokens: 48_500,
      windowTokens: 78_500,
    });
    expect(planBudget(threshold(0.5), fixed, measure, 9000).windowTokens).toBe(7500);
    expect(planBudget(tokens(1400), fixed, measure).messageTokens).toBe(0);
    const { factor: _, ...recorded } = made.recorded;
    expect(planBudget(overflow(), { ...made, recorded }, measure).factor).toBe(1);
    const learned = { ...made, recorded: { ...recorded, factor: 1.3 } };
    expect(planBudget(overflow(), learned, measure).factor).toBe(1.3);
    const none = planBudget(overflow(), unknown(9), measure);
    expect(none).toStrictEqual({ meter: measure, factor: 1 });
  });

  it("each rule has a name that says its limit", () => {
    const names = [overflow(), threshold(0.5), tokens(9), manual()].map(({ name }) => name);
    expect(names).toEqual(["overflow", "threshold(0.5)", "tokens(9)", "manual"]);
    expect(threshold(1).name).toBe("threshold(1)");
  });

  it("after a compaction means by a twentieth of the limit, or of a prompt that is still above it", () => {
    const due = (size: number, settled: number): string =>
      compactionDue(tokens(1000), unknown(size), settled);
    expect([due(1040, 990), due(1041, 990)]).toEqual(["wait", "compact"]);
    expect([due(2100, 2000), due(2101, 2000)]).toEqual(["wait", "compact"]);
    expect(due(1001, 0)).toBe("compact");
    expect(due(1000, 0)).toBe("wait");
  });

  it.each([0, -1, 1.1, Number.NaN])("a threshold of %s is refused", (share) => {
    expect(() => threshold(share)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });

  it.each([0, -5, Number.NaN])("a limit of %s tokens is refused", (limit) => {
    expect(() => tokens(limit)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });

  it("after a compaction waits until the prompt has grown, however large it still is", () => {
    const due = (size: number, settled?: number): string =>
      compactionDue(overflow(), estimateOf(size), settled);
    expect(due(90_000)).toBe("compact");
    expect(due(90_000, 88_000)).toBe("wait");
    expect(due(93_000, 88_000)).toBe("compact");
    expect(due(70_000, 60_000)).toBe("wait");
    expect(compactionDue(tokens(10), unknown(1000), 990)).toBe("wait");
    expect(compactionDue(manual(), estimateOf(90_000), 90_000)).toBe("warn");
  });

  it("never asks for two compactions in a row without growth between them, so that it cannot loop", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 120_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(sizes, fc.double({ min: 0.01, max: 1, noNaN: true }), (prompts, share) => {
        let settled: number | undefined;
        for (const size of prompts) {
          if (compactionDue(threshold(share), estimateOf(size), settled) !== "compact") continue;
          // One that saved nothing.
          expect(size).toBeGreaterThan(settled ?? 0);
          settled = size;
        }
      }),
      runs(50),
    );
  });
});
