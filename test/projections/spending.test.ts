/** Where a session's tokens went: steps, repeated attempts and summaries, apart and in all. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventBody, SessionEvent, TokenUsage } from "../../src/events/index.ts";
import {
  addUsage,
  noUsage,
  spending,
  usage,
  type Spending,
  type UsageState,
} from "../../src/projections/usage.ts";

const model = { provider: "p", modelId: "m" };
const error = { name: "Error", message: "" };

function fold(bodies: readonly EventBody[]): UsageState {
  return bodies.reduce(
    (state, body, index) =>
      usage.fold(state, { position: index + 1, time: index * 10, ...body } satisfies SessionEvent),
    usage.initial,
  );
}

function started(turn: number, step: number): EventBody {
  const estimate = { tokens: 1, basis: "length" } as const;
  return {
    type: "step.started",
    data: { turn, step, attempt: 1, model, promptDigest: "", estimate },
  };
}

const spent: fc.Arbitrary<TokenUsage> = fc
  .record({
    basis: fc.constantFrom("measured" as const, "estimated" as const),
    parts: fc.array(fc.nat(99), { minLength: 5, maxLength: 5 }),
  })
  .map(({ basis, parts: [a = 0, b = 0, c = 0, d = 0, e = 0] }) => ({
    basis,
    inputTokens: a + b + c,
    uncachedInputTokens: a,
    cacheReadTokens: b,
    cacheWriteTokens: c,
    outputTokens: d + e,
    textTokens: d,
    reasoningTokens: e,
  }));

interface Imagined {
  readonly retries: readonly TokenUsage[];
  readonly end: TokenUsage;
  readonly summary: TokenUsage | undefined;
}
const step: fc.Arbitrary<Imagined> = fc.record({
  retries: fc.array(spent, { maxLength: 2 }),
  end: spent,
  summary: fc.option(spent, { nil: undefined }),
});
const turns = fc.array(fc.array(step, { maxLength: 3 }), { maxLength: 4 });

function logOf(imagined: readonly (readonly Imagined[])[]): readonly EventBody[] {
  let number = 0;
  return imagined.flatMap((steps, index): EventBody[] => {
    const turn = index + 1;
    const bodies = steps.flatMap(({ retries, end, summary }): EventBody[] => {
      number++;
      const compacted: EventBody[] =
        summary === undefined
          ? []
          : [
              {
                type: "context.compaction-rejected",
                data: { strategy: "s", why: "failed", model, usage: summary },
              },
            ];
      return [
        started(turn, number),
        ...retries.map((cost, attempt): EventBody => ({
          type: "step.retrying",
          data: { step: number, attempt: attempt + 1, delayMs: 0, error, usage: cost },
        })),
        {
          type: "step.finished",
          data: { step: number, finishReason: "stop", usage: end, response: {} },
        },
        ...compacted,
      ];
    });
    return [
      { type: "turn.started", data: { turn, maxSteps: 9 } },
      ...bodies,
      { type: "turn.ended", data: { turn, reason: "stop" } },
    ];
  });
}

const sum = (usages: readonly TokenUsage[]): TokenUsage => usages.reduce(addUsage, noUsage);

describe("spending", () => {
  it("adds up: parts to totals, steps to turns, turns to the session, and each kind apart", () => {
    fc.assert(
      fc.property(turns, (imagined) => {
        const state = fold(logOf(imagined));
        const all = imagined.flat();
        const whole = spending(state);
        expect(whole.steps).toEqual(sum(all.map(({ end }) => end)));
        expect(whole.retries).toEqual(sum(all.flatMap(({ retries }) => retries)));
        expect(whole.compactions).toEqual(
          sum(all.flatMap(({ summary }) => (summary === undefined ? [] : [summary]))),
        );
        expect(whole.total).toEqual(sum([whole.steps, whole.retries, whole.compactions]));
        expect(whole.total).toEqual(
          sum(imagined.map((_, index) => spending(state, index + 1).total)),
        );
        const { total } = whole;
        expect(total.inputTokens).toBe(
          (total.uncachedInputTokens ?? 0) +
            (total.cacheReadTokens ?? 0) +
            (total.cacheWriteTokens ?? 0),
        );
        expect(total.outputTokens).toBe((total.textTokens ?? 0) + (total.reasoningTokens ?? 0));
        expect(usage.schema.parse(structuredClone(state))).toEqual(state);
      }),
    );
  });

  it("counts a summary that was written between turns in the session and in no turn", () => {
    const cost: TokenUsage = { basis: "measured", inputTokens: 7, outputTokens: 3 };
    const covers = { from: 1, to: 2 };
    const state = fold([
      { type: "turn.started", data: { turn: 1, maxSteps: 9 } },
      { type: "turn.ended", data: { turn: 1, reason: "stop" } },
      {
        type: "context.compacted",
        data: { strategy: "s", covers, summary: "", beforeTokens: 9, afterTokens: 1, usage: cost },
      },
    ]);
    expect(spending(state).compactions).toMatchObject(cost);
    expect(spending(state, 1).total).toEqual(noUsage);
    expect(spending(state, 0).total).toMatchObject(cost);
    expect(state.total).toEqual(noUsage);
  });

  it("of a turn in whose middle a session branched off has the steps and retries behind that", () => {
    const cost = (inputTokens: number): TokenUsage => {
      return { basis: "measured", inputTokens, outputTokens: 1 };
    };
    const work = (number: number): readonly EventBody[] => {
      const data = { step: number, finishReason: "stop", response: {} } as const;
      return [
        started(1, number),
        {
          type: "step.retrying",
          data: { step: number, attempt: 1, delayMs: 0, error, usage: cost(10 * number) },
        },
        { type: "step.finished", data: { ...data, usage: cost(number) } },
      ];
    };
    const begun: EventBody = { type: "turn.started", data: { turn: 1, maxSteps: 9 } };
    const from = { session: "s", position: 4 };
    const forked: EventBody = { type: "session.forked", data: { from } };
    const state = fold([begun, ...work(1), forked, ...work(2)]);
    const inputs = ({ inherited, ...own }: Spending): readonly unknown[] =>
      [own.steps, own.retries, own.compactions, own.total, inherited].map(
        (one) => one?.inputTokens,
      );
    expect(inputs(spending(state, 1))).toEqual([2, 20, 0, 22, undefined]);
    expect(inputs(spending(state))).toEqual([2, 20, 0, 22, 11]);
  });
});
