/** Where a compaction may cut: what is kept within some tokens, and what a cut covers. */

import { describe, expect, it } from "vitest";
import type { PlanBudget } from "../../src/context/compaction/compaction-strategy.ts";
import {
  beginsWithUser,
  covering,
  cuttable,
  keptBehind,
  keptByDefault,
  keptWithin,
  tokensFrom,
  usualBudget,
  type Cuttable,
  type ShownUnit,
} from "../../src/context/compaction/shown-units.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { itemMessages } from "../../src/projections/index.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { gpt, Session } from "./session.ts";

const measure = meter(lengthEstimator, gpt);
const budget = (more: Partial<PlanBudget> = {}): PlanBudget => ({
  meter: measure,
  factor: 1,
  ...more,
});

/** Units of these sizes without content. */
function sized(tokens: readonly number[], openTokens = 0): Cuttable {
  const units = tokens.map((_, index): ShownUnit => ({
    kind: "step",
    from: index + 1,
    to: index + 1,
    turn: 1,
    items: [],
  }));
  return { units, tokens, openTokens, openMessages: openTokens > 0 ? 1 : 0 };
}

function talked(): Session {
  const session = new Session();
  session.ask("Go.");
  session.work("found");
  session.end();
  session.ask("And?");
  return session;
}

const compacted = (session: Session, from: number, to: number, summary: string): void => {
  session.record({
    type: "context.compacted",
    data: { strategy: "s", covers: { from, to }, summary, beforeTokens: 9, afterTokens: 1 },
  });
};

describe("what is kept", () => {
  it("are the newest units within the tokens, the open step included", () => {
    expect(keptWithin(sized([5, 5, 5]), 10)).toBe(1);
    expect(keptWithin(sized([5, 5, 5]), 9)).toBe(2);
    expect(keptWithin(sized([5, 5, 5]), 15)).toBe(0);
    expect(keptWithin(sized([5, 5, 5], 5), 10)).toBe(2);
    expect(keptWithin(sized([5, 5, 5], 5), 9)).toBe(3);
  });

  it("is the newest unit at the least, unless a step is open", () => {
    expect(keptWithin(sized([5, 50]), 10)).toBe(1);
    expect(keptWithin(sized([5, 50], 1), 10)).toBe(2);
    expect(keptWithin(sized([]), 10)).toBe(0);
  });

  it("has the tokens of its units and of the open step", () => {
    expect(tokensFrom(sized([1, 2, 4], 8), 1)).toBe(14);
    expect(tokensFrom(sized([1, 2, 4], 8), 0)).toBe(15);
    expect(tokensFrom(sized([1, 2, 4], 8), 3)).toBe(8);
  });

  it("is half of the messages' budget, or 40,000 tokens", () => {
    expect(keptByDefault(budget({ messageTokens: 100 }))).toBe(50);
    expect(keptByDefault(budget())).toBe(40_000);
    expect(keptByDefault(undefined)).toBe(40_000);
  });

  it("has less room behind a text: what that leaves of a half, and at the least a quarter", () => {
    const ten = sized(Array<number>(10).fill(10));
    // Half of the budget are 60 tokens.
    const given = budget({ messageTokens: 120 });
    expect(keptBehind(ten, given, "")).toBe(4);
    expect(keptBehind(ten, given, "x".repeat(80))).toBe(6);
    expect(keptBehind(ten, { ...given, factor: 1.5 }, "x".repeat(80))).toBe(7);
    expect(keptBehind(ten, given, "x".repeat(4000))).toBe(7);
  });
});

describe("a prompt", () => {
  it("is measured by unit, its text by the model's factor, and what still runs apart", () => {
    const session = talked();
    const { units, tokens, openTokens, openMessages } = cuttable(
      session.history,
      session.view,
      budget({ factor: 2 }),
    );
    const expected = units.map(({ items }) =>
      items
        .flatMap((item) => itemMessages(item))
        .map((message) => measure.message(message))
        .reduce((sum, { text, media, around }) => sum + 2 * text + media + around, 0),
    );
    expect(tokens).toEqual(expected);
    expect([openTokens, openMessages]).toEqual([0, 0]);
    session.start();
    session.say("Well, well.");
    const open = cuttable(session.history, session.view, budget());
    expect(open.units).toEqual(units);
    const [message] = session.history.open === undefined ? [] : itemMessages(session.history.open);
    const size = measure.message(message ?? { role: "user", content: "" });
    expect(open.openTokens).toBe(size.text + size.around);
    expect(open.openMessages).toBe(1);
  });

  it("is measured as usual where no budget is known", () => {
    const { history, view } = talked();
    expect(cuttable(history, view, undefined)).toEqual(cuttable(history, view, usualBudget));
    expect(usualBudget.factor).toBe(1);
  });

  it("has a summary as a unit of its text", () => {
    const session = talked();
    compacted(session, 1, session.history.items[2]?.position ?? 0, "So far, so good.");
    const { units, tokens } = cuttable(session.history, session.view, budget({ factor: 2 }));
    expect(units.map(({ kind }) => kind)).toEqual(["summary", "user"]);
    expect(tokens[0]).toBe(2 * lengthEstimator.text("So far, so good."));
  });

  it("keeps a call that its provider has yet to answer, and all behind it, with what runs", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    session.ownCall("p");
    session.finish();
    session.steer("Hurry.");
    const { units, openMessages, openTokens } = cuttable(session.history, session.view, budget());
    expect(units.map(({ kind }) => kind)).toEqual(["user"]);
    expect(openMessages).toBe(2);
    expect(openTokens).toBeGreaterThan(0);
    session.end();
    session.ask("Next.");
    const later = cuttable(session.history, session.view, budget());
    expect(later.units).toHaveLength(4);
    expect(later.openTokens).toBe(0);
  });
});

describe("a cut", () => {
  it("covers from the first position of its units to the last", () => {
    const { history, view } = talked();
    const prompt = cuttable(history, view, budget());
    const [first, second, third] = prompt.units;
    expect(covering(prompt, 0, 2, "S")).toEqual({
      covers: { from: first?.from, to: second?.to },
      summary: "S",
    });
    expect(covering(prompt, 1, 3, "")?.covers).toEqual({ from: second?.from, to: third?.to });
    expect(covering(prompt, 1, 1, "S")).toBeUndefined();
    expect(covering(prompt, 9, 12, "S")).toBeUndefined();
  });

  it("covers something that is shown beside summaries", () => {
    const session = talked();
    compacted(session, 1, session.history.items[0]?.position ?? 0, "First.");
    const prompt = cuttable(session.history, session.view, budget());
    expect(covering(prompt, 0, 1, "S")).toBeUndefined();
    expect(covering(prompt, 0, 2, "S")).toBeDefined();
    const silent = new Session();
    silent.ask("");
    silent.end();
    const nothing = cuttable(silent.history, silent.view, budget());
    expect(covering(nothing, 0, 1, "S")).toBeUndefined();
  });

  it("knows whether what is shown behind it begins with a user or a summary", () => {
    const session = talked();
    const prompt = cuttable(session.history, session.view, budget());
    expect([0, 1, 2, 3].map((first) => beginsWithUser(prompt, first))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    compacted(session, 1, session.history.items[2]?.position ?? 0, "So far.");
    expect(beginsWithUser(cuttable(session.history, session.view, budget()), 0)).toBe(true);
    const silent = new Session();
    silent.ask("");
    silent.ask("Go.");
    expect(beginsWithUser(cuttable(silent.history, silent.view, budget()), 0)).toBe(true);
  });
});
