/** Why a message is not the same in two prompts. */

import { describe, expect, it } from "vitest";
import type { EventBody, StoredUserPart } from "../../src/events/index.ts";
import { promptDiff, standingChanges, type PromptDiff } from "../../src/projections/prompt-diff.ts";
import { asked, called, said, spent, stateOf, stepFinished, stepStarted } from "./session-of.ts";

/** Between what was, and what was with more after it. */
function between(before: readonly EventBody[], more: readonly EventBody[]): PromptDiff {
  return promptDiff(stateOf(...before), stateOf(...before, ...more));
}

function told({ changes }: PromptDiff): readonly string[] {
  return changes.map((change) => {
    const { role } = change.kind === "changed" ? change.after : change.message;
    return `${change.kind} ${change.index} ${role}: ${change.why}`;
  });
}

const ended = (output: string): EventBody => ({
  type: "tool.succeeded",
  data: { step: 1, callId: "1", output },
});
const look: readonly EventBody[] = [
  ...asked("Look."),
  stepStarted(1),
  called("1"),
  stepFinished(1, "tool-calls"),
];
const looked = [...look, ended("a long result")];
const pruned: EventBody = {
  type: "context.pruned",
  data: { calls: [{ step: 1, callId: "1" }], savedTokens: 3 },
};

function compacted(from: number, to: number, summary: string): EventBody {
  const data = { strategy: "test", covers: { from, to }, summary, beforeTokens: 9, afterTokens: 1 };
  return { type: "context.compacted", data };
}

function restored(position: number): EventBody {
  return { type: "context.restored", data: { position } };
}

it("says that a message gave way to a reduction that a provider's refusal asked for", () => {
  const before = [...looked, stepStarted(2)];
  const reduced: EventBody = {
    type: "context.reduced",
    data: { step: 2, rung: "newest-only", to: before.length },
  };
  const reasons = between(before, [reduced]).changes.map(({ kind, why }) => `${kind}: ${why}`);
  expect(reasons).toEqual(["removed: reduced", "removed: reduced", "added: reduced"]);
});

describe("a message of a prompt", () => {
  it("is new when it was said in between, and all that was cached still fits", () => {
    const diff = between(looked, [stepStarted(2), ...said("Found.")]);
    expect(told(diff)).toEqual(["added 3 assistant: new"]);
    expect(diff.cacheBreak).toBeUndefined();
  });

  it("is gone where the second position is the earlier one", () => {
    const diff = promptDiff(stateOf(...looked), stateOf(...asked("Look.")));
    expect(told(diff)).toEqual(["removed 1 assistant: gone", "removed 2 tool: gone"]);
    expect(diff.cacheBreak).toBeUndefined();
  });

  it("was continued when its step or its call was still running", () => {
    const speaking = [...asked("Go."), stepStarted(1), ...said("One ").slice(0, 2)];
    const more: EventBody = { type: "part.text-delta", data: { id: "t", text: "two." } };
    expect(told(between(speaking, [more]))).toEqual(["changed 1 assistant: continued"]);
    const silent = [...asked("Go."), stepStarted(1)];
    expect(told(between(silent, said("One ")))).toEqual(["added 1 assistant: continued"]);
    const diff = between(look, [ended("a long result")]);
    expect(told(diff)).toEqual(["changed 2 tool: continued"]);
    expect(diff.cacheBreak).toBe(2);
  });

  it("was cut off with its step, and the note about it is there for that", () => {
    const speaking = [...asked("Go."), stepStarted(1), ...said("One ").slice(0, 2)];
    const cut: readonly EventBody[] = [
      { type: "part.text-delta", data: { id: "t", text: "tw" } },
      { type: "step.interrupted", data: { step: 1, reason: "cancelled", usage: spent } },
    ];
    const diff = between(speaking, cut);
    expect(told(diff)).toEqual(["changed 1 assistant: cut-off", "added 2 user: cut-off"]);
    expect(diff.cacheBreak).toBe(1);
    const answered = between([...speaking, ...cut], asked("Go on.", 2));
    expect(told(answered)).toEqual(["removed 2 user: continued", "added 2 user: new"]);
  });

  it("is a note to conclude, which stays once it was sent and goes if it was not", () => {
    const late: EventBody = {
      type: "turn.limit-reached",
      data: { turn: 1, limit: "time", lastStep: true },
    };
    const noted = between(looked, [late]);
    expect(told(noted)).toEqual(["added 3 user: new"]);
    const position = looked.length + 1;
    expect(noted.changes[0]?.origin).toEqual({ kind: "note", position });
    expect(told(between([...looked, late], [stepStarted(2)]))).toEqual([]);
    const over: EventBody = { type: "turn.ended", data: { turn: 1, reason: "cancelled" } };
    expect(told(between([...looked, late], [over]))).toEqual(["removed 3 user: continued"]);
    const back = promptDiff(stateOf(...looked, late), stateOf(...looked));
    expect(told(back)).toEqual(["removed 3 user: gone"]);
  });

  it("was pruned, and restored, with its tool results", () => {
    const diff = between(looked, [pruned]);
    expect(told(diff)).toEqual(["changed 2 tool: pruned"]);
    expect(diff.cacheBreak).toBe(2);
    const back = between([...looked, pruned], [restored(looked.length + 1)]);
    expect(told(back)).toEqual(["changed 2 tool: restored"]);
  });

  it("was cut, cut again, and restored, with its tool results", () => {
    const cut = (head: number): EventBody => ({
      type: "context.cut",
      data: { calls: [{ step: 1, callId: "1", head, tail: 0 }], savedTokens: 3 },
    });
    expect(told(between(looked, [cut(5)]))).toEqual(["changed 2 tool: cut"]);
    const once = [...looked, cut(5)];
    expect(told(between(once, [cut(1)]))).toEqual(["changed 2 tool: cut"]);
    expect(told(between(once, [restored(once.length)]))).toEqual(["changed 2 tool: restored"]);
    const twice = [...once, cut(1)];
    expect(told(between(twice, [restored(twice.length)]))).toEqual(["changed 2 tool: restored"]);
    // A placeholder says more than what is left of a result.
    expect(told(between(once, [pruned]))).toEqual(["changed 2 tool: pruned"]);
  });

  it("was pruned with a call of its step, and again with another", () => {
    const two = [
      ...asked("Look."),
      stepStarted(1),
      called("1"),
      called("2"),
      stepFinished(1, "tool-calls"),
      ended("one"),
      { type: "tool.succeeded", data: { step: 1, callId: "2", output: "two" } } as const,
    ];
    const other: EventBody = {
      type: "context.pruned",
      data: { calls: [{ step: 1, callId: "2" }], savedTokens: 3 },
    };
    const position = two.length + 1;
    expect(told(between([...two, pruned], [other]))).toEqual(["changed 2 tool: pruned"]);
    expect(told(between([...two, pruned, other], [restored(position)]))).toEqual([
      "changed 2 tool: restored",
    ]);
    expect(told(between([...two, pruned], [pruned]))).toEqual([]);
  });

  it("lost its media, more of them, and got them back", () => {
    const file = (data: string): StoredUserPart => ({
      type: "file",
      data,
      mediaType: "image/png",
    });
    const [, ...delivered] = asked("");
    const seen: readonly EventBody[] = [
      {
        type: "message.queued",
        data: { id: "m1", content: [file("AAAA"), file("BBBB")], delivery: "follow-up" },
      },
      ...delivered,
      stepStarted(1),
      ...said("Seen."),
      stepFinished(1),
    ];
    const omitted = (media: number): EventBody => ({
      type: "context.media-omitted",
      data: { before: 3, there: [{ id: "m1", media }], media, savedBytes: 1 },
    });
    expect(told(between(seen, [omitted(1)]))).toEqual(["changed 0 user: media-omitted"]);
    const once = [...seen, omitted(1)];
    expect(told(between(once, [omitted(2)]))).toEqual(["changed 0 user: media-omitted"]);
    expect(told(between(once, [restored(once.length)]))).toEqual(["changed 0 user: restored"]);
  });

  it("was prepared: added, left out, and there again once the turn has ended", () => {
    const prepared: EventBody = {
      type: "step.prepared",
      data: {
        turn: 1,
        step: 2,
        messages: {
          hidden: [{ from: [3, 0], to: [3, 0] }],
          added: [{ after: { place: [0, 0] }, message: { role: "user", content: "Other." } }],
        },
      },
    };
    const diff = between(looked, [prepared]);
    expect(told(diff)).toEqual(["removed 0 user: prepared", "added 0 user: prepared"]);
    const position = looked.length + 1;
    expect(diff.changes.map(({ origin }) => origin)).toEqual([
      { kind: "user", position: 3, id: "m1" },
      { kind: "prepared", position, index: 0 },
    ]);
    const over: EventBody = { type: "turn.ended", data: { turn: 1, reason: "stop" } };
    expect(told(between([...looked, prepared], [over]))).toEqual([
      "removed 0 user: prepared",
      "added 0 user: prepared",
    ]);
  });

  it("is told apart from others of its delivery", () => {
    const message = (id: string): EventBody => ({
      type: "message.queued",
      data: {
        id,
        content: [{ type: "file", data: "AAAA", mediaType: "image/png" }],
        delivery: "follow-up",
      },
    });
    const together: readonly EventBody[] = [
      message("a"),
      message("b"),
      { type: "turn.started", data: { turn: 1, maxSteps: 9 } },
      { type: "message.delivered", data: { ids: ["a", "b"], turn: 1, boundary: "turn" } },
      stepStarted(1),
      ...said("Seen."),
    ];
    const there = [{ id: "b", media: 1 }];
    const omitted: EventBody = {
      type: "context.media-omitted",
      data: { before: 4, there, media: 1, savedBytes: 1 },
    };
    const diff = between(together, [omitted]);
    expect(told(diff)).toEqual(["changed 1 user: media-omitted"]);
    expect(diff.changes[0]).toMatchObject({ origin: { kind: "user", position: 4, id: "b" } });
    expect(diff.cacheBreak).toBe(1);
  });

  it("was compacted to a summary, and restored from it", () => {
    const summary = compacted(1, looked.length, "They looked.");
    const diff = between(looked, [summary]);
    expect(told(diff)).toEqual([
      "removed 0 user: compacted",
      "removed 1 assistant: compacted",
      "removed 2 tool: compacted",
      "added 0 user: compacted",
    ]);
    expect(diff.cacheBreak).toBe(0);
    const position = looked.length + 1;
    expect(told(between([...looked, summary], [restored(position)]))).toEqual([
      "removed 0 user: restored",
      "added 0 user: restored",
      "added 1 assistant: restored",
      "added 2 tool: restored",
    ]);
    const again = between([...looked, summary], [compacted(1, position, "Nothing.")]);
    expect(told(again)).toEqual(["removed 0 user: compacted", "added 0 user: compacted"]);
  });

  it("is removed and added again where summaries that overlap have changed places", () => {
    const three = [...asked("A"), ...asked("B", 2), ...asked("C", 3)];
    const outer = compacted(1, three.length, "Outer.");
    const inner = compacted(6, 6, "Inner.");
    const diff = between([...three, outer, inner], [compacted(3, 3, "First.")]);
    expect(told(diff)).toEqual([
      "added 0 user: compacted",
      "added 1 user: restored",
      "removed 1 user: compacted",
    ]);
    expect(diff.lengths).toEqual({ before: 2, after: 3 });
  });

  it("is not cached any more once model, instructions or tools are others", () => {
    const agent = { digest: "other", model: { provider: "p", modelId: "m" }, tools: [] };
    const diff = between(looked, [{ type: "session.configured", data: { agent } }]);
    expect(diff).toMatchObject({ agentChanged: true, cacheBreak: 0, changes: [] });
  });
});

describe("what a prompt has beside its messages", () => {
  const textOf = (text: string) => ({ digest: text, text });
  const standing = (instructions: string, ...tools: readonly (readonly [string, string])[]) => ({
    instructions: textOf(instructions),
    tools: tools.map(([name, text]) => ({ name, ...textOf(text) })),
  });
  const before = standing("One.\nTwo.\nThree.\nFour.", ["a", "1"], ["b", "2"]);

  it("is told by the lines between those that stay at the beginning and at the end", () => {
    const lines = (text: string) =>
      standingChanges(before, { ...before, instructions: textOf(text) });
    const changed = (from: number, removed: readonly string[], added: readonly string[]) => [
      { part: "instructions", kind: "changed", lines: { from, removed, added } },
    ];
    expect(lines("One.\nTwo.\nThree.\nFour.")).toEqual([]);
    expect(lines("One.\n2.\nThree.\nFour.")).toEqual(changed(2, ["Two."], ["2."]));
    expect(lines("One.\nTwo.\nTwo.\nThree.\nFour.")).toEqual(changed(3, [], ["Two."]));
    expect(lines("Two.\nThree.\nFour.")).toEqual(changed(1, ["One."], []));
    expect(lines("One.\nTwo.\nThree.")).toEqual(changed(4, ["Four."], []));
    expect(lines("One.")).toEqual(changed(2, ["Two.", "Three.", "Four."], []));
  });

  it("is told by the tools that came, went, changed or stand in another order, and by the settings", () => {
    const to = (...tools: readonly (readonly [string, string])[]) =>
      standingChanges(before, { ...before, tools: standing("", ...tools).tools });
    expect(to(["a", "1"])).toEqual([{ part: "tool", kind: "removed", name: "b" }]);
    expect(to(["a", "1"], ["c", "3"], ["b", "2"])).toEqual([
      { part: "tool", kind: "added", name: "c" },
    ]);
    expect(to(["b", "2"], ["a", "1"])).toEqual([
      { part: "tools", kind: "reordered", before: ["a", "b"], after: ["b", "a"] },
    ]);
    expect(to(["a", "1"], ["b", "3"])).toEqual([
      {
        part: "tool",
        kind: "changed",
        name: "b",
        lines: { from: 1, removed: ["2"], added: ["3"] },
      },
    ]);
    const cold = { ...before, settings: { temperature: 0 } };
    const hot = { ...before, settings: { temperature: 1 } };
    expect(standingChanges(cold, hot)).toMatchObject([{ part: "settings", lines: { from: 2 } }]);
    expect(standingChanges(before, hot)).toEqual([]);
  });
});
