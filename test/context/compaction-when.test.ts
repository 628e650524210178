/** When a compaction is due, by the estimate of the next prompt. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compactionDue,
  estimateContext,
  manual,
  overflow,
  threshold,
  tokens,
  type ContextEstimate,
} from "../../src/context/index.ts";
import { gpt, Session } from "./session.ts";

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

describe("when", () => {
  it("overflow: the reply would have no room, and never before", () => {
    expect(overflow().look(estimateOf(80_000))).toBe("wait");
    expect(overflow().look(estimateOf(80_001))).toBe("compact");
    expect(overflow().look(unknown(9_000_000))).toBe("wait");
  });

  it("threshold: a share of the window is full, or it overflows", () => {
    expect(threshold(0.5).look(estimateOf(49_999))).toBe("wait");
    expect(threshold(0.5).look(estimateOf(50_000))).toBe("compact");
    expect(threshold(1).look(estimateOf(80_001))).toBe("compact");
    expect(threshold(0.5).look(unknown(9_000_000))).toBe("wait");
  });

  it("tokens: there are so many, whatever the window", () => {
    expect(tokens(50_000).look(unknown(50_000))).toBe("compact");
    expect(tokens(50_000).look(estimateOf(49_999))).toBe("wait");
    expect(tokens(90_000).look(estimateOf(80_001))).toBe("compact");
  });

  it("manual: only a warning, when nine tenths of the room are used", () => {
    expect(manual().look(estimateOf(71_999))).toBe("wait");
    expect(manual().look(estimateOf(72_000))).toBe("warn");
    expect(manual().look(estimateOf(99_000))).toBe("warn");
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
      { numRuns: 50 },
    );
  });
});
