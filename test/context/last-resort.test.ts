/** What is left out at last, so that no message can end a session: what was too long, then what came before. */

import { describe, expect, it } from "vitest";
import type {
  CompactionPlan,
  PlanBudget,
} from "../../src/context/compaction/compaction-strategy.ts";
import { cuttable, tokensFrom } from "../../src/context/compaction/shown-units.ts";
import {
  newestTokens,
  onlyThisTurn,
  onlyThisTurnAtLast,
  unsentMessages,
} from "../../src/context/compaction/last-resort.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import type { StoredError } from "../../src/events/index.ts";
import { gpt, Session } from "./session.ts";

const measure = meter(defaultEstimator, gpt);
const room = (windowTokens?: number): PlanBudget => ({
  meter: measure,
  factor: 1,
  ...(windowTokens === undefined ? {} : { windowTokens }),
});
const long = "word ".repeat(1000);
const refused: StoredError = { name: "E", message: "prompt is too long" };

function unanswered(session: Session, content: string, error?: StoredError): void {
  session.ask(content);
  const { turn } = session.history;
  session.record({
    type: "turn.ended",
    data: error === undefined ? { turn, reason: "stop" } : { turn, reason: "failed", error },
  });
}

function answered(session: Session, content: string): void {
  session.ask(content);
  session.start();
  session.say("Well.");
  session.finish();
  session.end();
}

/** The contents of the users' messages that a plan leaves out. */
function hidden(session: Session, plan: CompactionPlan | undefined): readonly unknown[] {
  return session.history.items.flatMap((item) =>
    item.kind === "user" &&
    plan !== undefined &&
    plan.covers.from <= item.position &&
    item.position <= plan.covers.to
      ? [item.content]
      : [],
  );
}

function unsent(session: Session, windowTokens?: number): CompactionPlan | undefined {
  return unsentMessages.plan(session.history, session.view, room(windowTokens));
}

describe("unsent messages", () => {
  it("are those of earlier turns that do not fit beside the running turn and had no reply", () => {
    const session = new Session();
    unanswered(session, long);
    session.ask("And now?");
    const plan = unsent(session, 500);
    expect(hidden(session, plan)).toEqual([long]);
    expect(plan?.covers.to).toBe(session.history.items[1]?.position);
    expect(unsent(session, 5000)).toBeUndefined();
    expect(unsent(session)).toBeUndefined();
    const prompt = cuttable(session.history, session.view, room());
    const [size = 0] = prompt.tokens;
    const most = size + tokensFrom(prompt, 1);
    expect(unsent(session, most)).toBeUndefined();
    expect(unsent(session, most - 1)).toBeDefined();
  });

  it("are those of turns that a provider refused as too long, whatever their length, if the window is not known", () => {
    for (const error of [refused, { name: "E", message: "No.", statusCode: 413 }]) {
      const session = new Session();
      unanswered(session, "Short.", error);
      session.ask("And now?");
      expect(hidden(session, unsent(session))).toEqual(["Short."]);
      // It was refused for what was before it.
      expect(unsent(session, 500)).toBeUndefined();
    }
    for (const error of [undefined, { name: "E", message: "Busy." }]) {
      const session = new Session();
      unanswered(session, "Short.", error);
      session.ask("And now?");
      expect(unsent(session)).toBeUndefined();
    }
  });

  it("are none that the window has a place for, however much this turn has done", () => {
    const session = new Session();
    unanswered(session, long, { name: "E", message: "Busy." });
    session.ask("Go on.");
    for (let step = 0; step < 6; step++) session.work("found ".repeat(500));
    expect(unsent(session, 3000)).toBeUndefined();
    expect(hidden(session, unsent(session, 1500))).toEqual([long]);
  });

  it("are none that had a reply, nor those of the turn that runs", () => {
    const session = new Session();
    answered(session, long);
    session.ask(long);
    expect(unsent(session, 500)).toBeUndefined();
    const failed = new Session();
    answered(failed, "First.");
    const { turn } = failed.history;
    failed.record({ type: "turn.ended", data: { turn, reason: "failed", error: refused } });
    failed.ask("And now?");
    expect(unsent(failed)).toBeUndefined();
  });

  it("are the newest stretch of them, with what lies between, up to a reply", () => {
    const session = new Session();
    unanswered(session, "Lost before.", refused);
    answered(session, "Fine.");
    unanswered(session, "Kept before.");
    unanswered(session, "One.", refused);
    unanswered(session, "Between.");
    unanswered(session, "Two.", refused);
    unanswered(session, "Kept behind.");
    session.ask("And now?");
    const plan = unsent(session);
    expect(hidden(session, plan)).toEqual(["One.", "Between.", "Two."]);
    expect(plan?.summary).toBe(
      "[3 messages are not shown here: the prompt was too long, and no reply was given. in part:]\n\nOne.\n\nBetween.\n\nTwo.",
    );
  });

  it("go with the empty steps behind them, and leave a note with their beginning and end", () => {
    const session = new Session();
    session.ask(`Begin ${long} end.`);
    session.start();
    session.finish();
    session.end();
    session.ask("And now?");
    const plan = unsent(session, 960);
    expect(plan?.covers.to).toBe(session.history.items[2]?.position);
    expect(plan?.summary).toMatch(
      /^\[A message of the user is not shown here: the prompt was too long, and no reply was given\. in part:\]\n\nBegin word/,
    );
    expect(plan?.summary).toMatch(/characters left out here\.\]\n[^\n]* end\.$/);
    // A sixteenth of the window.
    expect(defaultEstimator.text(plan?.summary ?? "")).toBeLessThan(100 + 60);
    expect(unsentMessages.plan(session.history, session.view, room())).toBeUndefined();
  });

  it("are quoted three at the most, and not at all where no budget is known", () => {
    const session = new Session();
    for (const content of ["One.", "Two.", "Three.", "Four."])
      unanswered(session, content, refused);
    session.ask("And now?");
    expect(unsent(session)?.summary).toMatch(
      /^\[4 messages are .* given\. The last 3, in part:\]\n\nTwo\.\n\nThree\.\n\nFour\.$/,
    );
    expect(unsentMessages.plan(session.history, session.view)?.summary).toMatch(/ given\.\]$/);
  });

  it("share 300 tokens of quotation where the window is wide", () => {
    const session = new Session();
    const longer = long.repeat(4);
    for (const content of [longer, longer]) unanswered(session, content, refused);
    session.ask("And now?");
    const plan = unsent(session, 6000);
    expect(hidden(session, plan)).toEqual([longer, longer]);
    const summary = plan?.summary ?? "";
    const tokens = defaultEstimator.text(summary);
    expect(tokens).toBeGreaterThan(250);
    expect(tokens).toBeLessThan(390);
  });
});

describe("only this turn", () => {
  const plan = (session: Session, windowTokens?: number): CompactionPlan | undefined =>
    onlyThisTurn.plan(session.history, session.view, room(windowTokens));

  it("leaves out all before the running turn, and quotes the newest request among it", () => {
    const session = new Session();
    answered(session, "First.");
    answered(session, "Second.");
    const last = session.history.items.at(-1)?.position;
    const asked = `And now?${" Tell me what is left to do.".repeat(6)}`;
    session.ask(asked);
    session.start();
    session.say("Well.");
    expect(plan(session, 5000)).toEqual({
      covers: { from: session.history.items[0]?.position, to: last },
      summary:
        "[Earlier messages are not shown any more: they do not fit beside what follows. in part:]\n\nSecond.",
    });
    expect(onlyThisTurn.plan(session.history, session.view)?.summary).toMatch(/follows\.?\]$/);
  });

  it("quotes the running request only where it is not added", () => {
    const session = new Session();
    const asked = `Begin.${" Tell me what is left to do.".repeat(6)}`;
    unanswered(session, asked, { name: "E", message: "Busy." });
    session.ask("Go on.");
    const covers = {
      from: session.history.items[0]?.position,
      to: session.history.items[1]?.position,
    };
    const added = plan(session, 5000);
    expect(added?.covers).toEqual(covers);
    expect(added?.summary).toMatch(/follows\.\]$/);
    const last = onlyThisTurnAtLast.plan(session.history, session.view, room(5000));
    expect(last?.covers).toEqual(covers);
    expect(last?.summary).toContain(asked);
  });

  it("has nothing to leave out in the first turn", () => {
    const session = new Session();
    session.ask("Go.");
    session.work(long);
    expect(plan(session, 100)).toBeUndefined();
  });

  it("covers a summary again, also where nothing else is left", () => {
    const session = new Session();
    answered(session, "First.");
    const [from, to] = [1, session.position];
    const data = {
      strategy: "s",
      covers: { from, to },
      summary: long,
      beforeTokens: 9,
      afterTokens: 1,
    };
    session.record({ type: "context.compacted", data });
    session.ask("And now?");
    expect(plan(session, 5000)?.covers.to).toBe(session.history.items[2]?.position);
  });
});

it("what no compaction removes is the open step, else the newest unit", () => {
  const session = new Session();
  session.ask("Go.");
  session.work(long);
  const { history, view } = session;
  const open = cuttable(history, view, room());
  expect(open.openTokens).toBeGreaterThan(1000);
  expect(newestTokens(history, view, room())).toBe(open.openTokens);
  session.end();
  const closed = cuttable(session.history, session.view, room());
  expect(closed.openTokens).toBe(0);
  expect(newestTokens(session.history, session.view, room())).toBe(closed.tokens.at(-1));
  expect(newestTokens(new Session().history, session.view, room())).toBe(0);
});
