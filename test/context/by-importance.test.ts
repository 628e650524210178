/** Which messages give way by importance: the least important stretch that is long enough. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byImportance,
  defaultScore,
  scoredTurns,
} from "../../src/context/compaction/by-importance.ts";
import type {
  CompactionPlan,
  PlanBudget,
} from "../../src/context/compaction/compaction-strategy.ts";
import { cuttable } from "../../src/context/compaction/shown-units.ts";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { gpt, Session } from "./session.ts";
import { runs } from "../support/runs.ts";

const budget: PlanBudget = { meter: meter(defaultEstimator, gpt), factor: 1, messageTokens: 4000 };
const words = (count: number): string => "word ".repeat(count);

/** One turn of some 210 tokens, which may do more than talk, or ask for longer. */
function turn(
  session: Session,
  name: string,
  act: (session: Session) => void = () => {},
  asked = 100,
): void {
  session.ask(`Question ${name}. ${words(asked)}`);
  session.start();
  act(session);
  session.start();
  session.say(`Answer ${name}. ${words(100)}`);
  session.finish();
  session.end();
}

function write(session: Session, path: string): void {
  session.call(`w${session.position}`, "write_file", path);
  const callId = `w${session.position - 1}`;
  session.finish({}, "tool-calls");
  session.answer(callId, "written");
}

/** The turns of the history that a plan hides. */
function hidden(session: Session, plan: CompactionPlan | undefined): readonly number[] {
  const covered = session.history.items.filter(
    ({ position }) =>
      plan !== undefined && plan.covers.from <= position && position <= plan.covers.to,
  );
  return [...new Set(covered.map((item) => item.turn))];
}

describe("byImportance", () => {
  it("keeps an early turn that wrote a file, and hides the talk after it", () => {
    const session = new Session();
    turn(session, "decide", (it) => {
      write(it, "src/plan.md");
    });
    for (let index = 0; index < 20; index++) turn(session, `talk ${index}`);
    const plan = byImportance().plan(session.history, session.view, budget);
    expect(hidden(session, plan)).not.toContain(1);
    expect(hidden(session, plan)).toContain(2);
    expect(plan?.summary).toMatch(/^\[\d+ messages of this conversation are not shown here/);
    expect(plan?.summary).toMatch(/^Question talk \d+\./m);
  });

  it("hides that turn where a score of one's own prefers the talk", () => {
    const session = new Session();
    turn(session, "decide", (it) => {
      write(it, "src/plan.md");
    });
    for (let index = 0; index < 20; index++) turn(session, `talk ${index}`);
    const how = byImportance({ score: (one) => (one.turn === 1 ? 0 : 1) });
    expect(hidden(session, how.plan(session.history, session.view, budget))).toContain(1);
  });

  it("hides nothing while everything is within what is to be kept", () => {
    const session = new Session();
    for (let index = 0; index < 3; index++) turn(session, `${index}`);
    expect(byImportance().plan(session.history, session.view, budget)).toBeUndefined();
    expect(byImportance({ keep: 100 }).plan(session.history, session.view, budget)).toBeDefined();
  });

  it("hides no summary alone, long as it is: a summary covers turns", () => {
    const session = new Session();
    for (let index = 0; index < 4; index++) turn(session, `early ${index}`);
    const { position } = session;
    for (let index = 0; index < 8; index++) turn(session, `late ${index}`);
    session.record({
      type: "context.compacted",
      data: {
        strategy: "own",
        covers: { from: 1, to: position },
        summary: words(900),
        beforeTokens: 9000,
        afterTokens: 5000,
      },
    });
    const { units, tokens } = cuttable(session.history, session.view, budget);
    expect(units[0]?.kind).toBe("summary");
    const all = tokens.reduce((sum, one) => sum + one, 0);
    // The summary alone would be enough, and weighs nothing.
    const how = byImportance({ keep: all - (tokens[0] ?? 0) / 2 });
    const plan = how.plan(session.history, session.view, budget);
    expect(plan?.covers.to).toBeGreaterThan(position);
  });

  it("finds no stretch that is as long and less important, whatever the scores", () => {
    fc.assert(
      fc.property(
        // The questions differ in length: with equal ones, a range of the wrong messages has the right size.
        fc.array(fc.tuple(fc.nat(9), fc.integer({ min: 100, max: 300 })), {
          minLength: 12,
          maxLength: 24,
        }),
        fc.integer({ min: 800, max: 2000 }),
        (turns, keep) => {
          const session = new Session();
          for (const [index, [, asked]] of turns.entries())
            turn(session, `${index}`, undefined, asked);
          const score = (one: { readonly turn: number }): number => turns[one.turn - 1]?.[0] ?? 0;
          const plan = byImportance({ keep, score }).plan(session.history, session.view, budget);
          if (plan === undefined) throw new Error("Nothing was planned.");
          const { units, tokens } = cuttable(session.history, session.view, budget);
          const first = units.findIndex(({ from }) => from === plan.covers.from);
          const end = units.findIndex(({ to }) => to === plan.covers.to) + 1;
          const turnTokens = Map.groupBy(units.keys(), (index) => units[index]?.turn);
          const weight = (index: number): number => {
            const own = units[index]?.turn ?? 0;
            const all = turnTokens.get(own) ?? [];
            const whole = all.reduce((sum, one) => sum + (tokens[one] ?? 0), 0);
            return (score({ turn: own }) * (tokens[index] ?? 0)) / whole;
          };
          const sum = (from: number, to: number, of: (index: number) => number): number => {
            let total = 0;
            for (let index = from; index < to; index++) total += of(index);
            return total;
          };
          const size = sum(first, end, (index) => tokens[index] ?? 0);
          const least = sum(first, end, weight);
          // The newest half of the kept tokens is no candidate.
          let last = units.length;
          let kept = 0;
          while (last > 0 && kept + (tokens[last - 1] ?? 0) <= keep / 2)
            kept += tokens[--last] ?? 0;
          for (let from = 0; from < last; from++) {
            for (let to = from + 1; to <= last; to++) {
              if (sum(from, to, (index) => tokens[index] ?? 0) < size) continue;
              expect(sum(from, to, weight)).toBeGreaterThanOrEqual(least - 1e-6);
            }
          }
        },
      ),
      runs(30),
    );
  });

  it("repeats requests in an eighth of the kept tokens, if each has twenty, and the running one whole", () => {
    const measure = meter(lengthEstimator, gpt);
    const exact = { meter: measure, factor: 1, messageTokens: 8000 };
    const seen = new Set<boolean>();
    const running = `The running one.${" It is long enough to say what is wanted.".repeat(3)}`;
    for (const keep of [400, 800, 1200, 1600, 2400, 3200]) {
      const session = new Session();
      for (let index = 0; index < 16; index++) {
        session.ask(`Question ${index}. ${"x".repeat(800)}`);
        session.start();
        session.say("Well.");
        session.finish();
        session.end();
      }
      session.ask(running);
      session.work(...Array<string>(4).fill("y".repeat(8000)));
      const how = byImportance({ keep, score: ({ turn }) => (turn === 17 ? 0.001 : 1) });
      const other = byImportance({ keep, score: () => 1 });
      for (const plan of [how, other].map((one) =>
        one.plan(session.history, session.view, exact),
      )) {
        if (plan === undefined) throw new Error("Nothing was planned.");
        const turns = hidden(session, plan);
        const old = turns.filter((one) => one !== 17).length;
        const isLegible = keep / 8 / old >= 20;
        const quoted = plan.summary.match(/^Question \d+\./gm)?.length ?? 0;
        expect(quoted).toBe(isLegible ? old : 0);
        const texts = plan.summary.split("\n\n").slice(1).join("");
        seen.add(isLegible);
        // The note of each cut has some words of its own.
        const [least, most] = isLegible ? [keep / 10, keep / 8 + old * 14] : [0, 0];
        expect(texts.length / 4).toBeGreaterThanOrEqual(least);
        expect(texts.length / 4).toBeLessThanOrEqual(most + running.length / 4);
        expect(plan.summary.includes(running)).toBe(turns.includes(17));
        expect(plan.summary.includes("requests among them:]")).toBe(texts !== "");
      }
    }
    expect(seen.size).toBe(2);
  });

  it("covers enough to make room for its own note as well", () => {
    const measure = meter(lengthEstimator, gpt);
    const exact = { meter: measure, factor: 1, messageTokens: 8000 };
    const session = new Session();
    for (let index = 0; index < 30; index++) {
      session.ask(`Question ${index}. ${"x".repeat(400)}`);
      session.end();
    }
    const keep = 2400;
    const plan = byImportance({ keep }).plan(session.history, session.view, exact);
    if (plan === undefined) throw new Error("Nothing was planned.");
    const { units, tokens } = cuttable(session.history, session.view, exact);
    const left = units.reduce(
      (sum, { from }, index) =>
        plan.covers.from <= from && from <= plan.covers.to ? sum : sum + (tokens[index] ?? 0),
      0,
    );
    expect(left + plan.summary.length / 4).toBeLessThanOrEqual(keep);
    expect(left + plan.summary.length / 4).toBeGreaterThan(keep - 250);
  });

  it.each([Number.NaN, -1, Infinity, "3", undefined])("refuses %s as a score", (answer) => {
    const session = new Session();
    for (let index = 0; index < 20; index++) turn(session, `${index}`);
    // @ts-expect-error -- not always a number
    const how = byImportance({ score: () => answer });
    expect(() => how.plan(session.history, session.view, budget)).toThrow(/Return a number from 0/);
  });
});

describe("the default score", () => {
  const scores = (session: Session): readonly number[] =>
    scoredTurns(session.history.items).map(defaultScore);

  it("counts requests, changes, failures, and later turns that name the same path", () => {
    const session = new Session();
    turn(session, "plain");
    turn(session, "writes", (it) => {
      write(it, "src/a.ts");
    });
    turn(session, "fails", (it) => {
      it.call("f", "read", "src/b.ts");
      it.finish({}, "tool-calls");
      it.failed("f");
    });
    turn(session, "reads", (it) => {
      it.call("r", "read", "src/a.ts");
      it.finish({}, "tool-calls");
      it.answer("r", "text");
    });
    // One for each request; two for the change and one for the turn that reads the file; two for the failure.
    expect(scores(session)).toEqual([1, 4, 3, 1]);
  });

  it("counts a decision about an approval three times as much as a request", () => {
    const session = new Session();
    turn(session, "asks", (it) => {
      it.call("p", "pay");
      it.finish({}, "tool-calls");
      const key = { step: it.step, callId: "p" };
      it.record({ type: "tool.approval-requested", data: { ...key, toolName: "pay" } });
      it.record({ type: "tool.approval-answered", data: { ...key, approved: true } });
      it.answer("p", "paid");
    });
    expect(scores(session)).toEqual([4]);
  });
});
