/** A checkpoint: the requests and the names of the documents in the place of old messages. */

import { describe, expect, it } from "vitest";
import { checkpoint, type CheckpointOptions } from "../../src/context/compaction/checkpoint.ts";
import type {
  CompactionPlan,
  PlanBudget,
} from "../../src/context/compaction/compaction-strategy.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { gpt, Session } from "./session.ts";

const budget: PlanBudget = { meter: meter(lengthEstimator, gpt), factor: 1 };

function plan(
  { history, view }: Session,
  options: CheckpointOptions = {},
  given: PlanBudget | undefined = budget,
): CompactionPlan | undefined {
  return checkpoint(options).plan(history, view, given);
}

/** A turn of a request and so many steps of two messages each. */
function worked(steps: number): Session {
  const session = new Session();
  session.ask("Write the handbook.");
  for (let step = 0; step < steps; step++) session.work(`Output ${step}`);
  session.end();
  return session;
}

/** The position up to which a plan covers, as the number of the item. */
function coveredItems(session: Session, made: CompactionPlan | undefined): number {
  return session.history.items.filter(({ position }) => position <= (made?.covers.to ?? 0)).length;
}

describe("a checkpoint keeps", () => {
  it("the newest six messages, or as many as it is told, and no half of a step", () => {
    const session = worked(8);
    const kept = (options: CheckpointOptions): number =>
      coveredItems(session, plan(session, options));
    // The request and five steps: three steps have six messages.
    expect(kept({})).toBe(6);
    expect(kept({ keepMessages: 5 })).toBe(6);
    expect(kept({ keepMessages: 4 })).toBe(7);
    expect(kept({ keepMessages: 2 })).toBe(8);
    expect(plan(session, { keepMessages: 17 })).toBeUndefined();
    expect(kept({ keepMessages: 16 })).toBe(1);
  });

  it("the messages of a step that runs among them", () => {
    const session = new Session();
    session.ask("Write the handbook.");
    for (let step = 0; step < 4; step++) session.work(`Output ${step}`);
    expect(coveredItems(session, plan(session, { keepMessages: 4 }))).toBe(3);
  });

  it("nothing where there is no request", () => {
    const session = new Session();
    session.resume(1);
    for (let step = 0; step < 8; step++) session.work("found");
    session.end();
    expect(plan(session)).toBeUndefined();
  });
});

describe("its text", () => {
  const text = (session: Session, options: CheckpointOptions = {}): string =>
    plan(session, options)?.summary ?? "";

  it("has the original request once, and the latest one if that is another that is hidden", () => {
    const one = worked(8);
    expect(text(one).match(/Write the handbook\./g)).toHaveLength(1);
    expect(text(one)).not.toContain("The latest request");
    const two = worked(2);
    two.ask("Only chapter two.");
    for (let step = 0; step < 6; step++) two.work("found");
    expect(text(two)).toMatch(
      /^\[This conversation was cut down .*\]\n\nThe original request:\n\nWrite the handbook\.\n\nThe latest request:\n\nOnly chapter two\.\n\nHow the work stands/,
    );
    const shown = worked(8);
    shown.ask("Only chapter two.");
    expect(text(shown)).not.toContain("Only chapter two.");
  });

  it("names documents and tools, as many as there are", () => {
    const session = worked(8);
    const note = (options: CheckpointOptions): string =>
      /How the work stands is written down in (.*)\. Before you go on, read it with (.*), and/
        .exec(text(session, options))
        ?.slice(1)
        .join(" by ") ?? "";
    expect(note({})).toBe("your plan and the documents by the tools that you have");
    expect(note({ documents: ["a"], tools: ["b"] })).toBe("`a` by `b`");
    expect(note({ documents: ["a", "b"], tools: ["c", "d", "e"] })).toBe(
      "`a` and `b` by `c`, `d` and `e`",
    );
  });
});

it("more is covered where the kept messages and the text have no room", () => {
  const session = new Session();
  session.ask("Go.");
  for (let step = 0; step < 6; step++) session.work("x".repeat(400));
  session.end();
  const roomy = coveredItems(session, plan(session, {}, { ...budget, messageTokens: 5000 }));
  const narrow = coveredItems(session, plan(session, {}, { ...budget, messageTokens: 700 }));
  expect(roomy).toBe(4);
  expect(narrow).toBeGreaterThan(roomy);
});
