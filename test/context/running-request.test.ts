/** What a user waits for: which messages it is, and that no plan loses it. */

import { describe, expect, it } from "vitest";
import { byImportance } from "../../src/context/compaction/by-importance.ts";
import { checkpoint } from "../../src/context/compaction/checkpoint.ts";
import { dropMiddle } from "../../src/context/compaction/dropping.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import type {
  CompactionPlan,
  PlanBudget,
} from "../../src/context/compaction/compaction-strategy.ts";
import {
  runningRequest,
  withRunningRequest,
} from "../../src/context/compaction/running-request.ts";
import type { StoredUserContent, TurnEndReason } from "../../src/events/index.ts";
import { promptMessages } from "../../src/projections/index.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { gpt, Session } from "./session.ts";

const budget: PlanBudget = { meter: meter(lengthEstimator, gpt), factor: 1 };
const task = (name: string): string =>
  `${name}: ${"write the report that was asked for ".repeat(5)}`;

/** A turn that answers, or not, and ends for a reason. */
function turn(
  session: Session,
  content: StoredUserContent,
  reason: TurnEndReason = "stop",
  says = "Well.",
): void {
  session.ask(content);
  session.start();
  if (says !== "") session.say(says);
  session.finish();
  session.record({ type: "turn.ended", data: { turn: session.history.turn, reason } });
}

function running({ history: { items } }: Session, position?: number): readonly unknown[] {
  return runningRequest(items, position).map(({ content }) => content);
}

const unfinished: readonly TurnEndReason[] = [
  "length",
  "content-filter",
  "max-steps",
  "cancelled",
  "failed",
  "interrupted",
  "timed-out",
  "repeating",
  "out-of-budget",
];

describe("the running request", () => {
  it("is that of the newest turn, with what was said while it ran", () => {
    const session = new Session();
    expect(running(session)).toEqual([]);
    turn(session, task("One"));
    session.ask(task("Two"), "Soon.");
    session.work("found");
    session.steer("And three.");
    expect(running(session)).toEqual([task("Two"), "Soon.", "And three."]);
    session.end();
    expect(running(session)).toEqual([task("Two"), "Soon.", "And three."]);
    expect(running(session, session.history.items[3]?.position)).toEqual([task("Two"), "Soon."]);
    expect(running(session, session.history.items[1]?.position)).toEqual([task("One")]);
    expect(running(session, 0)).toEqual([]);
  });

  it.each(unfinished)("stays what it was after a turn that ended so: %s", (reason) => {
    const session = new Session();
    turn(session, task("Before"));
    turn(session, task("One"), reason);
    turn(session, task("Another"), reason);
    session.ask(task("Now"));
    expect(running(session)).toEqual([task("One"), task("Another"), task("Now")]);
    session.end();
    session.ask(task("Next"));
    expect(running(session)).toEqual([task("Next")]);
  });

  it.each(["stop", "stop-condition"] as const)("is over when its turn ended so: %s", (reason) => {
    const session = new Session();
    turn(session, task("One"), reason);
    session.ask(task("Two"));
    expect(running(session)).toEqual([task("Two")]);
  });

  it("stays after a reply without a word", () => {
    const session = new Session();
    turn(session, task("One"), "stop", "");
    session.ask(task("Two"));
    expect(running(session)).toEqual([task("One"), task("Two")]);
  });

  it.each(["Go on.", "weiter so, bitte", "はい、続けてください", "Да, продолжай", "👍", ""])(
    "continues with a word, in any language, also after a good end: %s",
    (word) => {
      const session = new Session();
      turn(session, task("Before"));
      turn(session, task("One"));
      turn(session, "Yes, do it.");
      session.ask(word);
      expect(running(session)).toEqual([task("One"), "Yes, do it.", word]);
    },
  );

  it("continues in a turn without a message", () => {
    const session = new Session();
    turn(session, task("One"));
    session.record({ type: "turn.started", data: { turn: 2, maxSteps: 9 } });
    session.resume(2);
    session.work("found");
    expect(running(session)).toEqual([task("One")]);
  });

  it("is a new one if a file comes with a few words", () => {
    const session = new Session();
    turn(session, task("One"));
    const file = { type: "file", data: "AA==", mediaType: "image/png" } as const;
    session.ask([{ type: "text", text: "This." }, file]);
    expect(running(session)).toEqual([[{ type: "text", text: "This." }, file]]);
  });

  it("has a message that was sent again once", () => {
    const session = new Session();
    turn(session, task("One"), "failed");
    turn(session, "Go on.", "failed");
    turn(session, task("One"), "failed");
    session.ask("Go on.");
    expect(running(session)).toEqual([task("One"), "Go on."]);
  });
});

const everything = (session: Session, summary = "Gone."): CompactionPlan => ({
  covers: { from: 1, to: session.position },
  summary,
});

function kept(session: Session, plan: CompactionPlan, room?: number): string {
  const { history, view } = session;
  const given = room === undefined ? budget : { ...budget, windowTokens: room };
  return withRunningRequest(plan, history, view, given).summary;
}

const HEAD = "[The request that is being worked on, word by word:]";

function compact(session: Session, { covers, summary }: CompactionPlan): void {
  const data = { strategy: "s", covers, summary, beforeTokens: 2, afterTokens: 1 };
  session.record({ type: "context.compacted", data });
}

describe("a plan that would lose the running request", () => {
  it("gets it, word by word, with files by name", () => {
    const session = new Session();
    const file = { type: "file", data: "AA==", mediaType: "image/png", filename: "a.png" } as const;
    turn(session, [{ type: "text", text: task("One") }, file], "failed");
    turn(session, "Go on.");
    expect(kept(session, everything(session))).toBe(
      `Gone.\n\n${HEAD}\n\n${task("One")}\n[file: a.png]\n\nGo on.`,
    );
    expect(kept(session, everything(session, ""))).toMatch(/^\[The request/);
  });

  it("stays as it is where the prompt still has it: as a message, or in a text", () => {
    const session = new Session();
    turn(session, task("Before"));
    const to = session.position;
    session.ask(task("One"));
    const shown = { covers: { from: 1, to }, summary: "Gone." };
    expect(withRunningRequest(shown, session.history, session.view, budget)).toBe(shown);
    const told = everything(session, `The user wants: ${task("One")} Go on with it.`);
    expect(withRunningRequest(told, session.history, session.view, budget)).toBe(told);
  });

  it("has it once, however often the text with it is covered again", () => {
    const session = new Session();
    turn(session, task("One"), "failed");
    const texts: string[] = [];
    for (let round = 0; round < 4; round++) {
      session.ask("Go on.");
      session.work("found");
      const summary = kept(session, everything(session, texts.at(-1) ?? "Gone."));
      compact(session, everything(session, summary));
      texts.push(summary);
    }
    expect(new Set(texts).size).toBe(1);
    // A strategy that writes anew loses it no more than the first time.
    session.ask("Go on.");
    expect(kept(session, everything(session, "Anew."))).toBe(
      `Anew.\n\n${HEAD}\n\n${task("One")}\n\nGo on.`,
    );
  });

  it("gets it again if an earlier compaction hid it, and nothing of it where that has it", () => {
    const session = new Session();
    turn(session, task("One"), "failed");
    const first = everything(session, "Gone.");
    const held = kept(session, first);
    session.ask("Go on.");
    const from = session.position + 1;
    session.work("found");
    const later = { covers: { from, to: session.position }, summary: "Work." };
    compact(session, first);
    expect(kept(session, later)).toContain(task("One"));
    compact(session, { ...first, summary: held });
    expect(kept(session, later)).toBe("Work.");
  });

  it.each([
    ["drop-middle", dropMiddle({ headTokens: 1, tailTokens: 1 })],
    ["checkpoint", checkpoint({ keepMessages: 1 })],
    ["by-importance", byImportance({ keep: 400 })],
  ] as const)("of %s has a message once that was sent again", (_, strategy) => {
    const session = new Session();
    turn(session, task("One"), "failed");
    turn(session, task("One"), "failed");
    turn(session, "Go on.");
    session.ask("Go on.");
    for (let step = 0; step < 2; step++) session.work("found ".repeat(400));
    const { history, view } = session;
    const own = strategy.plan(history, view, budget);
    if (own !== undefined) compact(session, withRunningRequest(own, history, view, budget));
    const prompt = JSON.stringify(promptMessages(session.history, session.view));
    expect(prompt.split("One: ")).toHaveLength(2);
  });

  it("has no short word for repeated that its text has by chance", () => {
    const session = new Session();
    session.ask("No");
    session.work("found");
    expect(kept(session, everything(session, "Nothing was found."))).toMatch(/\n\nNo$/);
    expect(kept(session, everything(session, "Said:\n\nNo"))).toBe("Said:\n\nNo");
  });

  it("gets no more than three quarters of the window of earlier turns, however many of them failed", () => {
    const session = new Session();
    for (let round = 0; round < 300; round++)
      turn(session, round % 2 === 0 ? task(`Number ${round}`) : `Go on, ${round}.`, "failed");
    session.ask("Now?");
    const summary = kept(session, everything(session), 1000);
    expect(lengthEstimator.text(summary)).toBeLessThan(750);
    expect(summary).toContain("Number 298");
    expect(summary).toContain("Now?");
    expect(summary).not.toContain("Number 0:");
  });

  it("gets the beginning and the end of a message that is too long for the window, and the others whole", () => {
    const session = new Session();
    turn(session, task("Long ").repeat(20), "failed");
    turn(session, task("One"), "failed");
    session.ask("Go on.");
    const [text, head, long, one, word] = kept(session, everything(session), 400).split("\n\n");
    expect([text, head, one, word]).toEqual(["Gone.", HEAD, task("One"), "Go on."]);
    expect(long).toMatch(/^Long [^]*characters left out here/);
    expect(lengthEstimator.text(long ?? "")).toBeLessThan(120);
  });
});
