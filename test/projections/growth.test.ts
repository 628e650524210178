/** What is read of a long history does not grow with it, where a compaction covers all but its end. */

import { standing } from "../../src/projections/standing.ts";
import { expect, it } from "vitest";
import { acceptedAt, queue } from "../../src/projections/queue.ts";
import { contextView } from "../../src/projections/context-view.ts";
import { history } from "../../src/projections/history.ts";
import { promptDiff } from "../../src/projections/prompt-diff.ts";
import { promptMessages } from "../../src/projections/prompt.ts";
import type { HistoryItem, HistoryState } from "../../src/projections/history-item.ts";

const STEPS = 5000;

/** So many turns of a message and its end, whose reads are counted. */
function counted(turns: number): { readonly state: HistoryState; readonly reads: () => number } {
  const items = Array.from({ length: turns }, (_, turn): readonly HistoryItem[] => [
    {
      kind: "user",
      id: `m${turn}`,
      content: "Go.",
      position: 2 * turn + 1,
      time: 0,
      turn: turn + 1,
    },
    { kind: "turn-end", reason: "stop", position: 2 * turn + 2, time: 0, turn: turn + 1 },
  ]).flat();
  let reads = 0;
  const watched = new Proxy(items, {
    get: (target, key, receiver): unknown => {
      if (typeof key === "string" && /^\d/.test(key)) reads += 1;
      return Reflect.get(target, key, receiver);
    },
  });
  return { state: { ...history.initial, items: watched, turn: turns }, reads: () => reads };
}

const view = {
  ...contextView.initial,
  compactions: [{ position: 9 * STEPS, from: 1, to: 2 * STEPS - 20, summary: "It went on." }],
};

it("a prompt is made of what is shown alone", () => {
  const { state, reads } = counted(STEPS);
  expect(promptMessages(state, view)).toHaveLength(11);
  expect(reads()).toBeLessThan(100);
});

it("two prompts are compared by what is shown alone", () => {
  const [before, after] = [counted(STEPS - 5), counted(STEPS)];
  const summary = {};
  const diff = promptDiff(
    { history: before.state, view, summary, standing: standing.initial },
    { history: after.state, view, summary, standing: standing.initial },
  );
  expect(diff.changes.map(({ why }) => why)).toEqual(Array<string>(5).fill("new"));
  expect(before.reads() + after.reads()).toBeLessThan(300);
});

it("a message is accepted at the price of a few others, and every earlier state stays as it was", () => {
  let state = queue.initial;
  const states = [state];
  for (let position = 1; position <= 1000; position++) {
    const data = {
      id: position === 7 ? "__proto__" : `m${position}`,
      content: "Go.",
      delivery: "steer",
    } as const;
    state = queue.fold(state, { position, time: 0, type: "message.queued", data });
    states.push(state);
  }
  const [before, after] = [states[998], states[999]];
  const copied = after?.accepted.filter((chunk) => !before?.accepted.includes(chunk));
  expect(copied?.flatMap((chunk) => Object.keys(chunk)).length).toBeLessThanOrEqual(256);
  for (const [length, known] of states.entries()) {
    expect([
      acceptedAt(known, `m${length}`) ?? length,
      acceptedAt(known, `m${length + 1}`),
    ]).toEqual([length, undefined]);
  }
  expect(acceptedAt(state, "__proto__")).toBe(7);
  expect(acceptedAt(state, "constructor")).toBeUndefined();
  expect(queue.schema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
});
