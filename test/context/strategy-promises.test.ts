/** What each strategy keeps, however little it is told to keep; and what it does when it is asked early. */

import { describe, expect, it } from "vitest";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { byImportance } from "../../src/context/compaction/by-importance.ts";
import { dropMiddle, dropOldest, slidingWindow } from "../../src/context/compaction/dropping.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { summarize } from "../../src/context/compaction/summarize.ts";
import type { CompactionStrategy } from "../../src/context/compaction/compaction-strategy.ts";
import type { EventBody } from "../../src/events/index.ts";
import { gpt, Session } from "./session.ts";

const ground = { meter: meter(defaultEstimator, gpt), factor: 1, messageTokens: 100_000 };
const words = (count: number): string => "word ".repeat(count);

/** Turns of a question and an answer of some hundred tokens each. */
function talk(turns: number): Session {
  const session = new Session();
  for (let turn = 1; turn <= turns; turn++) {
    session.ask(`Question ${turn}. ${words(100)}`);
    session.start();
    session.say(`Answer ${turn}. ${words(100)}`);
    session.finish();
    session.end();
  }
  return session;
}

const keepingNothing: readonly (readonly [string, CompactionStrategy])[] = [
  ["slidingWindow", slidingWindow({ tokens: 0 })],
  ["byImportance", byImportance({ keep: 0 })],
  ["dropMiddle", dropMiddle({ headTokens: 0, tailTokens: 0 })],
  ["dropOldest", dropOldest({ keepTurns: 0 })],
  ["summarize", summarize({ keepTokens: 0 })],
];

describe("the newest message", () => {
  it.each(keepingNothing)("is never cut away, however little is to be kept: %s", (_, how) => {
    const session = talk(4);
    const { position } = session;
    session.ask(words(3000));
    const plan = how.plan(session.history, session.view, ground);
    if (plan === undefined) throw new Error("Nothing was planned.");
    expect(plan.covers.to).toBeLessThanOrEqual(position);
    expect(plan.covers.from).toBeLessThan(plan.covers.to);
  });

  it.each(keepingNothing)("is all that there is, and there is nothing to plan: %s", (_, how) => {
    const session = new Session();
    session.ask(words(3000));
    expect(how.plan(session.history, session.view, ground)).toBeUndefined();
  });
});

describe("a short prompt", () => {
  it("is summarised when that is asked for: the older half of it", () => {
    const session = talk(4);
    const { position } = talk(2);
    const plan = summarize().plan(session.history, session.view, ground);
    // What is to be kept by default is far more than there is.
    expect(plan?.covers.from).toBeLessThan(talk(1).position);
    expect(plan?.covers.to).toBeLessThanOrEqual(position);
    expect(plan?.covers.to).toBeGreaterThan(talk(1).position);
  });
});

describe("dropOldest", () => {
  it("keeps the newest request with what came of it where the turn that runs has said nothing yet", () => {
    const how = dropOldest({ keepTurns: 1 });
    const running: EventBody = { type: "turn.started", data: { turn: 4, maxSteps: 9 } };
    const session = talk(3);
    session.record(running);
    expect(how.plan(session.history, session.view, ground)?.covers.to).toBe(talk(2).position);
    const unanswered = talk(2);
    const { position } = unanswered;
    unanswered.ask("And?");
    unanswered.record(running);
    expect(how.plan(unanswered.history, unanswered.view, ground)?.covers.to).toBe(position);
  });
});

describe("dropMiddle", () => {
  const covers = (session: Session, options: Parameters<typeof dropMiddle>[0], tokens: number) =>
    dropMiddle(options).plan(session.history, session.view, { ...ground, messageTokens: tokens })
      ?.covers;

  it("keeps a quarter of half of the window at the beginning, and the rest at the end", () => {
    const session = talk(20);
    // A turn has some 210 tokens: of half of 4,000, a quarter is two of them, and the rest is seven.
    const found = covers(session, {}, 4000);
    expect(found?.from).toBeGreaterThan(talk(2).position);
    expect(found?.from).toBeLessThanOrEqual(talk(3).position);
    expect(found?.to).toBeGreaterThanOrEqual(talk(12).position);
    expect(found?.to).toBeLessThan(talk(14).position);
  });

  it("keeps as much of both ends as its options say, at the least the first message", () => {
    const session = talk(10);
    const first = covers(session, { headTokens: 0, tailTokens: 250 }, 4000);
    expect(first?.from).toBeLessThan(talk(1).position);
    expect(first?.from).toBeGreaterThan(1);
    expect(first?.to).toBe(talk(9).position);
    const wide = covers(session, { headTokens: 650, tailTokens: 250 }, 4000);
    expect(wide?.from).toBeGreaterThan(talk(2).position);
  });

  it("keeps the first message unless that alone takes more than half of the window", () => {
    const session = talk(6);
    // A question has some hundred tokens.
    const first = (windowTokens: number): number | undefined =>
      dropMiddle({ headTokens: 0, tailTokens: 250 }).plan(session.history, session.view, {
        ...ground,
        windowTokens,
      })?.covers.from;
    const asked = session.history.items[0]?.position;
    expect(first(150)).toBe(asked);
    expect(first(300)).toBeGreaterThan(asked ?? 0);
  });

  it("keeps no summary as the beginning: what was covered before is covered again", () => {
    const session = talk(3);
    const dropped = dropOldest({ keepTurns: 1 }).plan(session.history, session.view, ground);
    if (dropped === undefined) throw new Error("Nothing was planned.");
    const { covers: before } = dropped;
    session.record({
      type: "context.compacted",
      data: { strategy: "s", covers: before, summary: "So far.", beforeTokens: 2, afterTokens: 1 },
    });
    for (let step = 0; step < 8; step++) session.work(words(100));
    const again = covers(session, { headTokens: 650, tailTokens: 250 }, 4000);
    expect(again?.from).toBe(before.from);
    expect(again?.to).toBeGreaterThan(before.to);
  });

  it("has nothing to do where both ends meet", () => {
    expect(covers(talk(4), { headTokens: 500, tailTokens: 500 }, 4000)).toBeUndefined();
  });

  it("says how many messages are missing", () => {
    const session = talk(2);
    session.ask("Do it all.");
    for (let step = 0; step < 8; step++) session.work(words(100));
    const how = dropMiddle({ headTokens: 0, tailTokens: 250 });
    expect(how.plan(session.history, session.view, ground)?.summary).toMatch(
      /^\[1\d messages of this conversation are not shown here\.\]$/,
    );
  });
});
