/** What one cut takes away as a whole. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dropMiddle, dropOldest, slidingWindow } from "../../src/context/compaction/dropping.ts";
import {
  isPending,
  messageCount,
  shownUnits,
  type ShownUnit,
} from "../../src/context/compaction/shown-units.ts";
import { anySession, play } from "./any-session.ts";
import { nextPrompt, problems } from "./next-prompt.ts";
import { Session } from "./session.ts";

const long = (tokens: number): string => "word ".repeat(tokens / 1.05);

describe("a cut", () => {
  it("takes a parallel batch as a whole or not at all", () => {
    const session = new Session();
    session.ask("Go.");
    session.work(long(500), long(500), long(500));
    session.work(long(500), long(500), long(500));
    const plan = slidingWindow({ tokens: 2300 }).plan(session.history, session.view);
    const steps = session.history.items.filter(({ kind }) => kind === "step");
    expect(plan?.covers.to).toBe(steps[0]?.position);
  });

  it("takes a call of the provider's own together with its result of a later step", () => {
    const session = new Session();
    session.ask("Go.");
    session.work(long(1000));
    session.start();
    session.ownCall("search");
    session.say(long(300));
    session.finish();
    session.start();
    session.ownResult("search");
    session.say(long(1000));
    session.finish();
    session.work("Last.");
    const [before, , result] = session.history.items.filter(({ kind }) => kind === "step");
    const coveredWithin = (tokens: number): number | undefined =>
      slidingWindow({ tokens }).plan(session.history, session.view)?.covers.to;
    expect(coveredWithin(1500)).toBe(before?.position);
    // By the tokens alone the cut would lie between the two.
    expect(coveredWithin(1200)).toBe(result?.position);
  });

  it("never takes a call that the provider has yet to answer", () => {
    const session = new Session();
    session.ask("Go.");
    session.work(long(1000));
    session.start();
    session.ownCall("search");
    session.say(long(2000));
    session.finish();
    session.steer("Hurry.");
    const plan = slidingWindow({ tokens: 10 }).plan(session.history, session.view);
    expect(plan?.covers.to).toBeLessThan(session.history.items.at(-2)?.position ?? 0);
  });

  it("takes messages that were delivered together as a whole or not at all", () => {
    const session = new Session();
    session.ask("First.", "Second.");
    session.work("Found.");
    session.end();
    session.resume(2);
    session.record({ type: "turn.started", data: { turn: 2, maxSteps: 99 } });
    session.end();
    // What is kept begins with the request of the turn before: of the last one, nothing is shown.
    expect(dropOldest({ keepTurns: 1 }).plan(session.history, session.view)).toBeUndefined();
    fc.assert(
      fc.property(anySession, (shape) => {
        const { history, view } = play(shape);
        const units = shownUnits(history, view);
        for (const [index, { from }] of units.entries())
          expect(from).toBeGreaterThan(units[index - 1]?.to ?? 0);
      }),
    );
  });

  it("takes what was compacted before as one piece, and nothing of it twice", () => {
    const session = new Session();
    session.ask("The beginning.");
    for (let step = 0; step < 6; step++) session.work(`${step} ${long(500)}`);
    const strategy = dropMiddle({ headTokens: 100, tailTokens: 1200 });
    const first = strategy.plan(session.history, session.view);
    if (first === undefined) throw new Error("Nothing was planned.");
    const figures = { strategy: "s", beforeTokens: 9, afterTokens: 1 };
    session.record({ type: "context.compacted", data: { ...first, ...figures } });
    expect(strategy.plan(session.history, session.view)).toBeUndefined();
    for (let step = 0; step < 3; step++) session.work(`${step} ${long(500)}`);
    const second = strategy.plan(session.history, session.view);
    expect(second?.covers.from).toBe(first.covers.from);
    expect(second?.covers.to).toBeGreaterThan(first.covers.to);
    session.record({
      type: "context.compacted",
      data: { ...(second ?? first), ...figures },
    });
    expect(nextPrompt(session).filter(({ role }) => role === "user")).toHaveLength(2);
    expect(problems(session)).toEqual([]);
  });
});

describe("a unit", () => {
  const kinds = ({ history, view }: Session): readonly string[] =>
    shownUnits(history, view).map(({ kind, turn, items }) => `${kind} ${turn} ${items.length}`);

  it("is a step, or the messages of one delivery, with the end of its turn", () => {
    const session = new Session();
    session.ask("One.", "Two.");
    session.work("found");
    session.steer("Three.");
    session.work("found");
    session.end();
    session.ask("Four.");
    session.end();
    expect(kinds(session)).toEqual(["user 1 2", "step 1 1", "user 1 1", "step 1 2", "user 2 2"]);
    const units = shownUnits(session.history, session.view);
    const { items } = session.history;
    expect([units[3]?.from, units[3]?.to]).toEqual([items[4]?.position, items[5]?.position]);
    expect(units.every(({ summary }) => summary === undefined)).toBe(true);
  });

  it("is a summary with all that it covers, and has a message if the summary has a text", () => {
    const compacted = (summary: string): readonly ShownUnit[] => {
      const session = new Session();
      session.ask("One.");
      session.work("found");
      session.end();
      const covers = { from: 1, to: session.history.items[1]?.position ?? 0 };
      session.record({
        type: "context.compacted",
        data: { strategy: "s", covers, summary, beforeTokens: 9, afterTokens: 1 },
      });
      const { items } = session.history;
      const units = shownUnits(session.history, session.view);
      expect(units[0]).toEqual({
        kind: "summary",
        from: items[0]?.position,
        to: items[1]?.position,
        turn: 1,
        items: items.slice(0, 2),
        summary,
      });
      return units;
    };
    expect(compacted("So far.").map(messageCount)).toEqual([1, 0]);
    expect(compacted("").map(messageCount)).toEqual([0, 0]);
  });

  it("has as many messages as its items", () => {
    const session = new Session();
    session.ask("One.", "Two.");
    session.work("found");
    session.start();
    session.finish();
    session.end();
    expect(shownUnits(session.history, session.view).map(messageCount)).toEqual([2, 2, 0]);
  });

  it("is one from a call of the provider to its result, with all between, also where they overlap", () => {
    const session = new Session();
    const step = (act: () => void): void => {
      session.start();
      act();
      session.say("So.");
      session.finish();
    };
    session.ask("Go.");
    step(() => undefined);
    step(() => session.ownCall("a"));
    step(() => session.ownCall("b"));
    step(() => session.ownResult("a"));
    step(() => session.ownResult("b"));
    step(() => undefined);
    expect(kinds(session)).toEqual(["user 1 1", "step 1 1", "step 1 4"]);
    session.end();
    expect(kinds(session)).toEqual(["user 1 1", "step 1 1", "step 1 4", "step 1 2"]);
    const [, , whole] = shownUnits(session.history, session.view);
    const { items } = session.history;
    expect([whole?.from, whole?.to]).toEqual([items[2]?.position, items[5]?.position]);
  });

  it("waits for its provider until all of its calls have results or its turn is over", () => {
    const session = new Session();
    const pending = (): readonly boolean[] =>
      shownUnits(session.history, session.view).map(isPending);
    session.ask("Go.");
    session.start();
    session.ownCall("a");
    session.ownCall("b");
    session.ownResult("a");
    session.finish();
    session.steer("Well?");
    expect(pending()).toEqual([false, true, false]);
    const mark = session.mark();
    session.start();
    session.ownResult("b");
    session.finish();
    session.steer("Well?");
    expect(pending()).toEqual([false, false, false]);
    session.back(mark);
    const open = new Session();
    open.ask("Go.");
    open.start();
    open.ownCall("a");
    open.finish();
    open.end();
    expect(shownUnits(open.history, open.view).map(isPending)).toEqual([false, false]);
  });
});
