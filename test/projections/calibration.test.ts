/** The factor by which guesses of text are corrected: learned from bills, slowly and within bounds. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventBody, ModelName, PromptEstimate, SessionEvent } from "../../src/events/index.ts";
import {
  calibration,
  calibrationFactor,
  type CalibrationState,
} from "../../src/projections/calibration.ts";

const model: ModelName = { provider: "p", modelId: "m" };

function billed(
  state: CalibrationState,
  estimate: PromptEstimate,
  inputTokens: number,
  basis: "measured" | "estimated" = "measured",
): CalibrationState {
  const envelope = { position: 1, time: 0 };
  const started = calibration.fold(state, {
    ...envelope,
    type: "step.started",
    data: { turn: 1, step: 1, attempt: 1, model, promptDigest: "", estimate },
  });
  return calibration.fold(started, {
    ...envelope,
    type: "step.finished",
    data: {
      step: 1,
      finishReason: "stop",
      usage: { basis, inputTokens, outputTokens: 1 },
      response: {},
    },
  });
}

/** An estimate of 1,000 tokens that are known and some of text that were guessed. */
function anchored(guessedTokens: number, factor = 1): PromptEstimate {
  return { tokens: 1000 + guessedTokens * factor, basis: "anchored", guessedTokens, factor };
}

const factorOf = (state: CalibrationState): number => calibrationFactor(state, model, 1);

describe("the factor", () => {
  it("is the family's own before anything was learned", () => {
    expect(calibrationFactor(calibration.initial, model, 1.2)).toBe(1.2);
  });

  it("follows the bills, and comes to where they are", () => {
    let state = calibration.initial;
    const factors: number[] = [];
    for (let step = 0; step < 40; step++) {
      state = billed(state, anchored(1000, factorOf(state)), 1000 + 1300);
      factors.push(factorOf(state));
    }
    expect(factors).toEqual(factors.toSorted((one, other) => one - other));
    expect(factors[0]).toBeLessThan(1.2);
    expect(factors.at(-1)).toBeGreaterThan(1.28);
    expect(factors.at(-1)).toBeLessThanOrEqual(1.3);
  });

  it("stays within half and double, whatever is billed", () => {
    const bills = fc.array(fc.tuple(fc.nat(100_000), fc.nat(1_000_000)), { maxLength: 30 });
    fc.assert(
      fc.property(bills, (steps) => {
        const state = steps.reduce(
          (before, [guessed, bill]) => billed(before, anchored(guessed, factorOf(before)), bill),
          calibration.initial,
        );
        expect(factorOf(state)).toBeGreaterThanOrEqual(0.5);
        expect(factorOf(state)).toBeLessThanOrEqual(2);
        expect(calibration.schema.parse(structuredClone(state))).toEqual(state);
      }),
    );
  });

  it.each<[string, CalibrationState]>([
    [
      "a bill that was itself estimated",
      billed(calibration.initial, anchored(900), 2100, "estimated"),
    ],
    ["a few tokens, which tell of the wrapping", billed(calibration.initial, anchored(40), 1060)],
    [
      "a prompt in which something else must have been",
      billed(calibration.initial, anchored(900), 9000),
    ],
    [
      "a whole prompt, of which the provider adds parts of its own",
      billed(calibration.initial, { ...anchored(900), basis: "length" }, 2100),
    ],
  ])("learns nothing from %s", (_, state) => {
    expect(factorOf(state)).toBe(1);
  });

  it("learns no more from one huge step than from several", () => {
    const once = billed(calibration.initial, anchored(100_000), 1000 + 150_000);
    expect(factorOf(once)).toBeCloseTo((1000 + 4000 * 1.5) / 5000);
  });

  it("stays through a restart, in a fork, and when somebody else goes on with the session", () => {
    const state = billed(calibration.initial, anchored(1000), 2500);
    const agent = { digest: "", model: { provider: "p", modelId: "other" }, tools: [] };
    const bodies: readonly EventBody[] = [
      { type: "session.recovered", data: { inFlight: { kind: "nothing" }, policy: "stop" } },
      { type: "session.forked", data: { from: { session: "s", position: 1 }, agent } },
      { type: "session.configured", data: { agent } },
    ];
    const after = bodies.reduce(
      (before, body) =>
        calibration.fold(before, { position: 2, time: 0, ...body } satisfies SessionEvent),
      state,
    );
    expect(after).toEqual(state);
    expect(factorOf(after)).toBe(1.25);
  });

  it("learns nothing from the bill of a step that is not the one that was estimated", () => {
    const started = {
      ...calibration.initial,
      running: { step: 2, model: "p:m", estimate: anchored(1000) },
    };
    const usage = { basis: "measured", inputTokens: 2500, outputTokens: 1 } as const;
    const data = { step: 1, finishReason: "stop", usage, response: {} } as const;
    const billedLate = calibration.fold(started, {
      position: 1,
      time: 0,
      type: "step.finished",
      data,
    });
    expect(billedLate).toBe(started);
  });

  it("is each model's own", () => {
    const state = billed(calibration.initial, anchored(1000), 2500);
    expect(calibrationFactor(state, { provider: "p", modelId: "other" }, 1)).toBe(1);
    expect(state.last).toEqual({ step: 1, basis: "anchored", estimated: 2000, billed: 2500 });
  });
});
