/** An item as the model is shown it: the newest cuts, prunings and omissions hold, and it is made once for each. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import {
  callName,
  cutItem,
  PRUNED_PLACEHOLDER,
  shownItem,
  showsEverything,
  sightedItem,
} from "../../src/projections/shown-item.ts";
import { contextView, type ContextView } from "../../src/projections/context-view.ts";
import type { HistoryItem, StepItem } from "../../src/projections/history-item.ts";
import { resultText } from "../../src/projections/shown-result.ts";
import { Session } from "../context/session.ts";

const LONG = "0123456789".repeat(100);

/** Two steps, each with a call `c0` and a call `c1` that have long results. */
function worked(): Session {
  const session = new Session();
  session.ask("Go.");
  session.work(LONG, LONG);
  session.work(LONG, LONG);
  session.end();
  return session;
}

function cut(callId: string, head: number, step = 1, more: object = {}): EventBody {
  const calls = [{ step, callId, head, tail: 0 }];
  return { type: "context.cut", data: { calls, savedTokens: 1, ...more } };
}

function pruned(callId: string, step = 1): EventBody {
  return { type: "context.pruned", data: { calls: [{ step, callId }], savedTokens: 1 } };
}

function stepOf({ history }: Session, number = 1): StepItem {
  const step = history.items.find((item) => item.kind === "step" && item.step === number);
  if (step?.kind !== "step") throw new Error("No step.");
  return step;
}

/** The results of a step's calls. */
function results(item: HistoryItem): readonly (string | undefined)[] {
  if (item.kind !== "step") throw new Error("No step.");
  return item.parts.flatMap((part) => (part.kind === "call" ? [resultText(part)] : []));
}

const shown = (session: Session, step = 1): HistoryItem =>
  shownItem(stepOf(session, step), session.view);

describe("cut results", () => {
  it("are those of the named calls of the named step, and no others", () => {
    const session = worked();
    session.record(cut("c1", 30));
    const [first, second] = results(shown(session));
    expect(first).toBe(LONG);
    expect(second).toBe(`${LONG.slice(0, 30)}\n[970 of 1000 characters left out here.]\n`);
    expect(results(shown(session, 2))).toEqual([LONG, LONG]);
    expect(shown(session, 2)).toBe(stepOf(session, 2));
  });

  it("are cut as the newest cut says, until it is undone", () => {
    const session = worked();
    session.record(cut("c0", 30));
    session.record(cut("c0", 10));
    session.record(cut("c1", 20));
    expect(results(shown(session)).map((text) => text?.match(/\d+(?= of)/)?.[0])).toEqual([
      "990",
      "980",
    ]);
    session.record({ type: "context.restored", data: { position: session.position - 1 } });
    expect(results(shown(session)).map((text) => text?.match(/\d+(?= of)/)?.[0])).toEqual([
      "970",
      "980",
    ]);
  });

  it("name the call and the tool that reads the rest, if there is one", () => {
    const session = worked();
    session.record(cut("c1", 30, 2, { reader: "read_on" }));
    expect(results(shown(session, 2))[1]).toContain('read_on({"call":"2.2","from":30})');
    session.record(cut("c0", 30, 2));
    expect(results(shown(session, 2))[0]).not.toContain("read_on");
  });

  it("are made once, and anew when another cut of the step holds", () => {
    const session = worked();
    const whole = stepOf(session);
    expect(cutItem(whole, session.view)).toBe(whole);
    session.record(cut("c0", 30));
    const once = cutItem(whole, session.view);
    session.record(cut("c0", 30, 2));
    expect(cutItem(whole, session.view)).toBe(once);
    session.record(cut("c1", 30));
    const both = cutItem(whole, session.view);
    expect(results(both).every((text) => text !== LONG)).toBe(true);
    session.record(cut("c1", 10));
    expect(results(cutItem(whole, session.view))[1]).toMatch(/^0123456789\n/);
    session.record({ type: "context.restored", data: { position: session.position } });
    expect(cutItem(whole, session.view)).toEqual(both);
    const note = { kind: "note", text: "", turn: 1, position: 1, time: 1 } as const;
    expect(cutItem(note, session.view)).toBe(note);
  });
});

describe("pruned results", () => {
  it("are replaced by a placeholder, those that succeeded alone", () => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    for (const id of ["a", "b", "c"]) session.call(id);
    session.say("So.");
    session.finish({}, "tool-calls");
    session.answer("a", "one");
    session.failed("b");
    session.answer("c", "three");
    session.end();
    session.record({
      type: "context.pruned",
      data: { calls: ["a", "b"].map((callId) => ({ step: 1, callId })), savedTokens: 1 },
    });
    const whole = stepOf(session);
    const item = shown(session);
    expect(results(item)).toEqual([PRUNED_PLACEHOLDER, "No such file.", "three"]);
    if (item.kind !== "step") throw new Error("No step.");
    expect(item).toEqual({ ...whole, parts: item.parts });
    expect(item.parts[0]).toEqual({
      ...whole.parts[0],
      outcome: {
        status: "succeeded",
        output: "one",
        position: expect.any(Number) as number,
        modelOutput: { type: "text", value: PRUNED_PLACEHOLDER },
      },
    });
    expect(item.parts.slice(1)).toEqual(whole.parts.slice(1));
  });

  it("are those of the named step, also where several prunings name it", () => {
    const session = worked();
    session.record(pruned("c0"));
    session.record(pruned("c1"));
    session.record(pruned("c0", 2));
    expect(results(shown(session))).toEqual([PRUNED_PLACEHOLDER, PRUNED_PLACEHOLDER]);
    expect(results(shown(session, 2))).toEqual([PRUNED_PLACEHOLDER, LONG]);
    expect(sightedItem(stepOf(session), session.view)).toBe(stepOf(session));
  });
});

it("a call is named by its step and its number among the calls of the step", () => {
  const session = new Session();
  session.ask("Go.");
  session.work();
  session.start();
  session.say("So.");
  session.call("a");
  session.think("Hm.");
  session.call("b");
  session.finish();
  session.end();
  const step = stepOf(session, 2);
  const names = step.parts.flatMap((part) => (part.kind === "call" ? [callName(step, part)] : []));
  expect(names).toEqual(["2.1", "2.2"]);
});

it("a view shows everything if nothing holds and all steps are bound to the agent's model", () => {
  const calls = [{ step: 1, callId: "a", head: 1, tail: 1 }];
  const views: readonly Partial<ContextView>[] = [
    { compactions: [{ position: 1, from: 1, to: 1, summary: "" }] },
    { prunings: [{ position: 1, calls }] },
    { cuts: [{ position: 1, calls }] },
    { omissions: [{ position: 1, omitted: { before: 1, there: [] } }] },
    { bindings: ["a"], binding: "b" },
  ];
  for (const view of views)
    expect(showsEverything({ ...contextView.initial, ...view }), JSON.stringify(view)).toBe(false);
  expect(showsEverything(contextView.initial)).toBe(true);
  expect(showsEverything({ ...contextView.initial, bindings: ["a"], binding: "a" })).toBe(true);
});
