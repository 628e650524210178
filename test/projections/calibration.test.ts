/** The factor by which guesses of text are corrected: learned from bills, slowly and within bounds. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventBody, ModelName, PromptEstimate, SessionEvent } from "../../src/events/index.ts";
import {
  calibration,
  calibrationFactor,
  type CalibrationState,
  type FactorPrior,
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

/** Of an estimator that nothing is known of. */
const open: FactorPrior = { factor: 1, spread: 0.3 };
/** Of a model with the vocabulary that texts are estimated by. */
const tight: FactorPrior = { factor: 1, spread: 0.03 };

const factorOf = (state: CalibrationState, prior = open): number =>
  calibrationFactor(state, model, prior);

describe("the factor", () => {
  it("is the family's own before anything was learned", () => {
    expect(factorOf(calibration.initial, { factor: 1.2, spread: 0.1 })).toBe(1.2);
  });

  it("follows the bills, and comes to where they are", () => {
    let state = calibration.initial;
    const factors: number[] = [];
    for (let step = 0; step < 12; step++) {
      state = billed(state, anchored(1000, factorOf(state)), 1000 + 1300);
      factors.push(factorOf(state));
    }
    expect(factors).toEqual(factors.toSorted((one, other) => one - other));
    expect(factors[0]).toBeLessThan(1.3);
    expect(factors.at(-1)).toBeCloseTo(1.3, 2);
  });

  it("learns slowly what differs from what is known of a model, and not beyond three spreads", () => {
    let state = billed(calibration.initial, anchored(1000), 1000 + 1500);
    expect(factorOf(state, tight)).toBeLessThan(1.02);
    expect(factorOf(state)).toBeGreaterThan(1.4);
    for (let step = 0; step < 40; step++) state = billed(state, anchored(1000), 1000 + 1500);
    expect(factorOf(state, tight)).toBeLessThanOrEqual(1.09);
  });

  it("forgets what later bills contradict", () => {
    let state = billed(calibration.initial, anchored(1000), 1000 + 1800);
    const misled = factorOf(state);
    for (let step = 0; step < 12; step++) state = billed(state, anchored(1000), 1000 + 1000);
    expect(misled).toBeGreaterThan(1.5);
    expect(factorOf(state)).toBe(1);
  });

  it("forgets a text that nobody recorded as soon as a prompt is without it", () => {
    const before = billed(calibration.initial, anchored(1000), 1000 + 1100);
    const misled = billed(before, anchored(300), 1000 + 300 + 280);
    expect(factorOf(misled)).toBeGreaterThan(factorOf(before));
    expect(factorOf(billed(misled, anchored(3), 1000 + 3 - 280))).toBe(factorOf(before));
  });

  it("learns from a bill of just the double, and from none above it", () => {
    const wide: FactorPrior = { factor: 1, spread: 1 };
    const after = (billedTokens: number): number =>
      factorOf(billed(calibration.initial, anchored(1000), 1000 + billedTokens), wide);
    expect(after(2000)).toBeGreaterThan(1.5);
    expect(after(500)).toBeLessThan(0.7);
    for (const beyond of [2001, 499]) expect(after(beyond)).toBe(1);
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

  it("learns no more from one huge step than from one of a few hundred tokens", () => {
    const once = billed(calibration.initial, anchored(100_000), 1000 + 150_000);
    const few = billed(calibration.initial, anchored(300), 1000 + 450);
    expect(factorOf(once)).toBe(factorOf(few));
    const fewer = billed(calibration.initial, anchored(60), 1000 + 90);
    expect(factorOf(fewer)).toBeLessThan(factorOf(few));
  });

  it("stays through a restart, in a fork, and when somebody else continues with the session", () => {
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
    expect(factorOf(after)).toBe(factorOf(state));
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
    expect(calibrationFactor(state, { provider: "p", modelId: "other" }, open)).toBe(1);
    expect(state.last).toEqual({ step: 1, basis: "anchored", estimated: 2000, billed: 2500 });
  });
});
