/** Where a sliding window begins and what lies between two ends, over messages of exactly a hundred tokens. */

import { describe, expect, it } from "vitest";
import { byImportance } from "../../src/context/compaction/by-importance.ts";
import type {
  CompactionPlan,
  PlanBudget,
} from "../../src/context/compaction/compaction-strategy.ts";
import {
  dropMiddle,
  type DropMiddleOptions,
  dropOldest,
  slidingWindow,
} from "../../src/context/compaction/dropping.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { shownUnits } from "../../src/context/compaction/shown-units.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { gpt, Session } from "./session.ts";

const budget: PlanBudget = { meter: meter(lengthEstimator, gpt), factor: 1 };

/** With the four tokens around a message, a hundred. */
const sized = (name: string): string => name.padEnd(384, "and more ");

function say(session: Session, name: string): void {
  session.start();
  session.say(sized(name));
  session.finish();
}

/** Turns of a request and so many replies, each a unit of a hundred tokens. */
function turns(...replies: readonly number[]): Session {
  const session = new Session();
  for (const [turn, count] of replies.entries()) {
    session.ask(sized(`request ${turn + 1} `));
    for (let reply = 0; reply < count; reply++) say(session, "reply ");
    session.end();
  }
  return session;
}

/** How many units a plan covers from the first on, or from which to which. */
function covered(session: Session, plan: CompactionPlan | undefined): unknown {
  if (plan === undefined) return undefined;
  const units = shownUnits(session.history, session.view);
  const from = units.findIndex((unit) => unit.from === plan.covers.from);
  const end = units.findIndex((unit) => unit.to === plan.covers.to) + 1;
  return from === 0 ? end : [from, end];
}

describe("a sliding window", () => {
  const window = (session: Session, tokens?: number, more: Partial<PlanBudget> = {}) =>
    slidingWindow(tokens === undefined ? {} : { tokens }).plan(session.history, session.view, {
      ...budget,
      ...more,
    });

  it("begins at a request where at least half of its tokens remain behind it", () => {
    const three = turns(1, 1, 1);
    const sizes = [600, 599, 400, 399, 200];
    expect(sizes.map((tokens) => covered(three, window(three, tokens)))).toEqual([
      undefined,
      2,
      2,
      4,
      4,
    ]);
    expect(window(three, 399)?.summary).toBe("");
    const long = turns(1, 3, 1);
    expect(covered(long, window(long, 400))).toBe(6);
    expect(window(long, 400)?.summary).toBe("");
    expect(covered(long, window(long, 401))).toBe(4);
    expect(covered(long, window(long, 500))).toBe(3);
  });

  it("begins anywhere else, and then its text has the request of the turn that is cut", () => {
    const long = turns(1, 3, 1);
    const { summary = "" } = window(long, 500) ?? {};
    expect(summary).toMatch(/^\[Earlier messages .* was:\]\n\nrequest 2 [a-z ]+$/);
    const last = turns(1, 1, 1);
    expect(covered(last, window(last, 100))).toBe(5);
    expect(window(last, 100)?.summary).toContain("request 3");
  });

  it("does not begin at a message that came while the turn ran", () => {
    const session = new Session();
    session.ask(sized("request "));
    say(session, "reply ");
    session.steer(sized("steered "));
    say(session, "reply ");
    session.end();
    const plan = window(session, 200);
    expect(covered(session, plan)).toBe(2);
    expect(plan?.summary).toContain("request ");
    expect(plan?.summary).not.toContain("steered");
  });

  it("has half of the messages' tokens by default, its text included", () => {
    const session = turns(9);
    // Of 500 tokens, the request in the text takes more than a hundred.
    expect(covered(session, window(session, undefined, { messageTokens: 1000 }))).toBe(7);
    expect(covered(session, window(session, 500))).toBe(5);
    expect(window(session)).toBeUndefined();
  });
});

describe("dropping the middle", () => {
  const middle = (session: Session, options: DropMiddleOptions, more: Partial<PlanBudget> = {}) =>
    covered(
      session,
      dropMiddle(options).plan(session.history, session.view, { ...budget, ...more }),
    );

  it("keeps as many tokens at the beginning and at the end as it is told", () => {
    const session = turns(1, 1, 1, 1);
    const ends = (headTokens: number, tailTokens: number): unknown =>
      middle(session, { headTokens, tailTokens });
    expect(ends(200, 200)).toEqual([2, 6]);
    expect(ends(199, 200)).toEqual([1, 6]);
    expect(ends(300, 299)).toEqual([3, 6]);
    expect(ends(300, 300)).toEqual([3, 5]);
    expect(ends(0, 0)).toEqual([1, 7]);
    expect(ends(400, 400)).toBeUndefined();
    expect(ends(300, 400)).toEqual([3, 4]);
    expect(ends(9999, 0)).toBeUndefined();
  });

  it("keeps by default an eighth of the messages' tokens at the beginning, three at the end", () => {
    const session = turns(1, 1, 1, 1, 1, 1);
    expect(middle(session, {}, { messageTokens: 1600 })).toEqual([2, 6]);
    expect(middle(session, { headTokens: 100 }, { messageTokens: 1600 })).toEqual([1, 5]);
    expect(middle(session, { tailTokens: 100 }, { messageTokens: 1600 })).toEqual([2, 11]);
    expect(middle(session, {})).toBeUndefined();
  });

  it("keeps the first message if that has no more than half of the window", () => {
    const session = turns(1, 1, 1);
    const options = { headTokens: 0, tailTokens: 100 };
    expect(middle(session, options, { windowTokens: 200 })).toEqual([1, 5]);
    expect(middle(session, options, { windowTokens: 199 })).toBe(5);
  });

  it("says how many messages it hides", () => {
    const session = turns(1, 1);
    session.ask(sized("the running one "));
    for (const name of ["one", "two", "three"]) session.work(name);
    const plan = dropMiddle({ headTokens: 0, tailTokens: 0 }).plan(
      session.history,
      session.view,
      budget,
    );
    expect(plan?.summary).toBe("[8 messages of this conversation are not shown here.]");
  });
});

it("by importance, one message may give way as soon as there is more than is to be kept", () => {
  const session = turns(0, 0);
  const kept = (keep: number): unknown =>
    covered(session, byImportance({ keep }).plan(session.history, session.view, budget));
  expect([200, 199.5, 100].map(kept)).toEqual([undefined, 1, 1]);
});

describe("dropping the oldest turns", () => {
  const oldest = (session: Session, keepTurns: number): unknown =>
    covered(session, dropOldest({ keepTurns }).plan(session.history, session.view, budget));

  it("keeps so many of the newest turns, one at the least", () => {
    const session = turns(1, 2, 3);
    expect([3, 2, 1, 0].map((keep) => oldest(session, keep))).toEqual([undefined, 2, 5, 5]);
    expect(dropOldest({ keepTurns: 1 }).plan(session.history, session.view)?.summary).toBe("");
  });

  it.each([{}, { keepTurns: "2" }, { keepTurns: 1, keep: 1 }])("takes no %j", (options) => {
    expect(() => dropOldest(options as never)).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT" }),
    );
  });
});
