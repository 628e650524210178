/** How important a turn is by default: points that anyone can count. */

import { describe, expect, it } from "vitest";
import { defaultScore, scoredTurns } from "../../src/context/compaction/by-importance.ts";
import type { HistoryItem, HistoryPart } from "../../src/projections/index.ts";

const place = { position: 1, time: 1 };

function step(turn: number, parts: readonly HistoryPart[], status = "finished"): HistoryItem {
  const model = { provider: "p", modelId: "m" };
  return { kind: "step", turn, step: turn, attempt: 1, model, ...place, status, parts } as never;
}

function call(toolName: string, more: object = {}): HistoryPart {
  const outcome = { status: "waiting" };
  return { kind: "call", callId: "c", toolName, input: {}, outcome, ...more } as HistoryPart;
}

const score = (...items: readonly HistoryItem[]): number =>
  defaultScore({ turn: 1, items, referredBy: 0 });

describe("a turn has", () => {
  it("a point for each message of a user, and none for notes and ends", () => {
    const user = { kind: "user", id: "m", content: "Go.", turn: 1, ...place } as const;
    const note = { kind: "note", text: "", turn: 1, ...place } as const;
    const end = { kind: "turn-end", reason: "stop", turn: 1, ...place } as const;
    expect(score()).toBe(0);
    expect(score(user, note, end, user)).toBe(2);
  });

  it("two for a step that failed, and two for each call that failed or is not known to have ended", () => {
    expect(score(step(1, [], "failed"))).toBe(2);
    expect(score(step(1, []))).toBe(0);
    const ended = (status: string): HistoryPart => call("read", { outcome: { status } });
    expect(score(step(1, [ended("failed"), ended("unknown"), ended("denied")]))).toBe(4);
  });

  it("two for each call of a tool whose name has a word of change", () => {
    const points = (name: string): number => score(step(1, [call(name)]));
    for (const name of ["write", "write_file", "fileWrite", "SendMail", "fs.delete", "Update2"])
      expect([name, points(name)]).toEqual([name, 2]);
    for (const name of ["read", "rewrite", "sender", "getUpdates"])
      expect([name, points(name)]).toEqual([name, 0]);
  });

  it("three for each decision about an approval, and none for a question without an answer", () => {
    const asked = { attempt: 1, position: 1, askedAt: 1 };
    const answer = { approved: true, position: 2, answeredAt: 2 };
    const approvals = [{ ...asked, answer }, asked, { ...asked, answer }];
    expect(score(step(1, [call("pay", { approvals })]))).toBe(6);
  });

  it("one for each later turn that refers to it, five at the most", () => {
    expect(
      [0, 3, 5, 6].map((referredBy) => defaultScore({ turn: 1, items: [], referredBy })),
    ).toEqual([0, 3, 5, 5]);
  });
});

describe("a later turn refers to one", () => {
  const named = (turn: number, input: unknown): HistoryItem =>
    step(turn, [call("read", { input })]);
  const referred = (...items: readonly HistoryItem[]): readonly number[] =>
    scoredTurns(items).map(({ referredBy }) => referredBy);

  it("by a text that both have in the inputs of calls, however deep, counted once a turn", () => {
    const deep = { list: [{ path: "src/a.ts" }], none: null, number: 5 };
    expect(referred(named(1, { path: "src/a.ts" }), named(2, deep), named(3, "src/a.ts"))).toEqual([
      2, 1, 0,
    ]);
    const both = { one: "src/a.ts", other: "src/b.ts" };
    expect(referred(named(1, both), named(2, both), named(2, both))).toEqual([1, 0]);
    expect(referred(named(1, { path: "src/a.ts" }), named(2, { path: "src/b.ts" }))).toEqual([
      0, 0,
    ]);
  });

  it("only by texts of four to five hundred characters", () => {
    for (const [length, count] of [
      [3, 0],
      [4, 1],
      [500, 1],
      [501, 0],
    ] as const) {
      const text = "x".repeat(length);
      expect(referred(named(1, text), named(2, text))).toEqual([count, 0]);
    }
  });

  it("and the turns come with their items, oldest first", () => {
    const items = [named(1, ""), named(1, ""), named(2, "")];
    expect(scoredTurns(items)).toEqual([
      { turn: 1, items: items.slice(0, 2), referredBy: 0 },
      { turn: 2, items: items.slice(2), referredBy: 0 },
    ]);
  });
});
