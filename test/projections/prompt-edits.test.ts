/** How the changes of `prepareStep` are kept: what is left out, and where added messages stand. */

import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { PreparedMessage, PromptPlace, PromptRange } from "../../src/events/index.ts";
import type { PromptOrigin } from "../../src/projections/prompt-step.ts";
import {
  editedEntries,
  isHidden,
  isWithin,
  noEdit,
  withChange,
  type PlacedEntry,
  type PromptEdit,
} from "../../src/projections/prompt-edit.ts";

const range = (...[a, b, c, d]: readonly [number, number, number, number]): PromptRange => ({
  from: [a, b],
  to: [c, d],
});

function plain(place: PromptPlace, message: ModelMessage, more: object = {}): PlacedEntry {
  const origin: PromptOrigin = { kind: "step", position: place[0], role: message.role, ...more };
  return { place, message, origin };
}

const user = (content: string) => ({ role: "user", content }) as const;
const reply = (...ids: readonly string[]) => ({
  role: "assistant" as const,
  content: [
    { type: "text" as const, text: "Well." },
    ...ids.map((toolCallId) => ({
      type: "tool-call" as const,
      toolCallId,
      toolName: "work",
      input: {},
    })),
  ],
});
const results = (...ids: readonly string[]) => ({
  role: "tool" as const,
  content: ids.map((toolCallId) => ({
    type: "tool-result" as const,
    toolCallId,
    toolName: "work",
    output: { type: "text" as const, value: "Done." },
  })),
});

const at = (place: PromptPlace) => ({ place });
const contents = ({ added }: PromptEdit): readonly unknown[] =>
  added.map(({ message: { content } }) => content);

function adding(
  edit: PromptEdit,
  position: number,
  ...added: readonly (readonly [
    PromptPlace | { readonly position: number; readonly index: number },
    string,
  ])[]
): PromptEdit {
  return withChange(edit, position, {
    added: added.map(([after, content]) => ({
      after: "index" in after ? after : at(after),
      message: user(content),
    })),
  });
}

it("a range has its ends and what is between them, by position first", () => {
  const places: readonly PromptPlace[] = [
    [1, 9],
    [2, 0],
    [2, 1],
    [3, 0],
    [4, 0],
    [4, 1],
  ];
  expect(places.filter((place) => isWithin(range(2, 1, 4, 0), place))).toEqual(places.slice(2, 5));
  expect(places.filter((place) => isWithin(range(3, 0, 3, 0), place))).toEqual([[3, 0]]);
});

describe("what is left out", () => {
  it("are the messages in a range, and summaries by their own name only", () => {
    const edit = { hidden: [range(1, 0, 2, 0)], summaries: [7], added: [] };
    const hidden = (entry: PlacedEntry): boolean => isHidden(edit, entry);
    expect(hidden(plain([1, 5], user("A")))).toBe(true);
    expect(hidden(plain([3, 0], user("B")))).toBe(false);
    expect(hidden(plain([1, 0], user("S"), { kind: "summary" }))).toBe(false);
    expect(hidden(plain([1, 0], user("S"), { kind: "summary", position: 7 }))).toBe(true);
    expect(hidden(plain([9, 0], user("S"), { kind: "summary", position: 7 }))).toBe(true);
  });

  it("grows with each change, until it is shown again or a wider range has it", () => {
    const first = withChange(noEdit, 1, { hidden: [range(1, 0, 2, 0), range(5, 0, 6, 0)] });
    expect(first).toStrictEqual({
      hidden: [range(1, 0, 2, 0), range(5, 0, 6, 0)],
      summaries: [],
      added: [],
    });
    expect(withChange(first, 2, { hidden: [range(8, 0, 8, 0)] }).hidden).toEqual([
      range(1, 0, 2, 0),
      range(5, 0, 6, 0),
      range(8, 0, 8, 0),
    ]);
    expect(withChange(first, 2, { shown: [range(1, 0, 2, 0)] }).hidden).toEqual([
      range(5, 0, 6, 0),
    ]);
    expect(withChange(first, 2, { shown: [range(1, 0, 3, 0), range(0, 0, 2, 0)] }).hidden).toEqual(
      first.hidden,
    );
    expect(withChange(first, 2, { hidden: [range(1, 0, 3, 0)] }).hidden).toEqual([
      range(5, 0, 6, 0),
      range(1, 0, 3, 0),
    ]);
    const partly = withChange(first, 2, { hidden: [range(2, 0, 5, 1)] }).hidden;
    expect(partly).toEqual([...first.hidden, range(2, 0, 5, 1)]);
  });

  it("are all summaries of the newest list, and those of before if it has none", () => {
    const edit = withChange(noEdit, 1, { summaries: [4, 5] });
    expect(withChange(edit, 2, { hidden: [] }).summaries).toEqual([4, 5]);
    expect(withChange(edit, 2, { summaries: [] }).summaries).toEqual([]);
  });
});

describe("added messages", () => {
  it("stand in the order of their places, the newest first at one place, together as they came", () => {
    const edit = adding(noEdit, 10, [[5, 0], "later"], [[2, 0], "A"], [[2, 0], "B"]);
    expect(contents(edit)).toEqual(["A", "B", "later"]);
    expect(edit.added[0]).toStrictEqual({
      position: 10,
      index: 1,
      after: [2, 0],
      message: user("A"),
    });
    const more = adding(edit, 11, [[2, 0], "C"], [[2, 0], "D"], [[9, 0], "last"], [[2, 0], "E"]);
    expect(contents(more)).toEqual(["E", "C", "D", "A", "B", "later", "last"]);
  });

  it("follow another added message at its place", () => {
    const edit = adding(noEdit, 10, [[2, 0], "A"], [[5, 0], "later"]);
    const more = adding(
      edit,
      11,
      [{ position: 10, index: 0 }, "B"],
      [{ position: 10, index: 0 }, "C"],
    );
    expect(contents(more)).toEqual(["A", "B", "C", "later"]);
    expect(more.added.map(({ after }) => after)).toEqual([
      [2, 0],
      [2, 0],
      [2, 0],
      [5, 0],
    ]);
    // What they followed is gone: they stand at the beginning.
    const unknown = adding(edit, 11, [{ position: 99, index: 0 }, "B"]);
    expect(contents(unknown)).toEqual(["B", "A", "later"]);
    expect(contents(adding(edit, 11, [{ position: 10, index: 9 }, "B"]))).toEqual([
      "B",
      "A",
      "later",
    ]);
  });

  it("are removed by their names", () => {
    const edit = adding(noEdit, 10, [[1, 0], "A"], [[2, 0], "B"]);
    const both = adding(edit, 11, [[3, 0], "C"]);
    expect(contents(withChange(both, 12, { removed: [{ position: 10, index: 0 }] }))).toEqual([
      "B",
      "C",
    ]);
    expect(contents(withChange(both, 12, { removed: [{ position: 12, index: 1 }] }))).toEqual([
      "A",
      "B",
      "C",
    ]);
  });
});

describe("an edited prompt", () => {
  const go = plain([1, 0], user("Go."));
  const called = plain([2, 0], reply("a"));
  const answered = plain([2, 1], results("a"));
  const thanks = plain([3, 0], user("Thanks."));
  const prompt = [go, called, answered, thanks];

  function withAdded(after: PromptPlace, ...messages: readonly ModelMessage[]): PromptEdit {
    return withChange(noEdit, 10, {
      added: messages.map((message) => ({
        after: at(after),
        message: message as PreparedMessage,
      })),
    });
  }
  const said = (edit: PromptEdit, isWhole = false): readonly ModelMessage[] =>
    editedEntries(prompt, edit, isWhole).map(({ message }) => message);

  it("has each added message behind its place, and at the end those whose place is the last", () => {
    const messages = prompt.map(({ message }) => message);
    const [one, two, three, four] = messages;
    const added = user("A");
    expect(said(noEdit)).toEqual(messages);
    expect(said(withAdded([0, 0], added))).toEqual([added, ...messages]);
    expect(said(withAdded([1, 0], added))).toEqual([one, added, two, three, four]);
    expect(said(withAdded([2, 1], added))).toEqual([one, two, three, added, four]);
    expect(said(withAdded([3, 0], added))).toEqual([...messages, added]);
    expect(said(withAdded([99, 0], added, user("B")))).toEqual([...messages, added, user("B")]);
    const made = withAdded([1, 0], added);
    expect(editedEntries(prompt, made, false)[1]).toBe(editedEntries(prompt, made, false)[1]);
    expect(editedEntries(prompt, made, false)[1]?.origin).toEqual({
      kind: "prepared",
      position: 10,
      index: 0,
    });
  });

  it("leaves out what is hidden, unless it is asked for whole", () => {
    const edit = withChange(noEdit, 10, { hidden: [range(2, 0, 2, 1)] });
    expect(said(edit)).toEqual([go.message, thanks.message]);
    expect(said(edit, true)).toEqual(prompt.map(({ message }) => message));
  });

  it("leaves out calls without their results and results without their calls", () => {
    const broken = withChange(noEdit, 10, { hidden: [range(2, 1, 2, 1)] });
    expect(said(broken)).toEqual([go.message, thanks.message]);
    const other = withChange(noEdit, 10, { hidden: [range(2, 0, 2, 0)] });
    expect(said(other)).toEqual([go.message, thanks.message]);
    const [whole] = prompt;
    expect(said(withAdded([1, 0], results("b")))).not.toContainEqual(results("b"));
    expect(said(withAdded([1, 0], reply("b")))).toEqual([
      whole?.message,
      called.message,
      answered.message,
      thanks.message,
    ]);
    expect(said(withAdded([1, 0], reply("b"), results("b")))).toHaveLength(6);
    expect(said(withAdded([1, 0], reply("b"), results("b")), true)).toHaveLength(6);
    expect(said(withAdded([1, 0], reply("b")), true)).toHaveLength(5);
  });

  it("leaves out an added reply beside another, and no reply that was said", () => {
    const messages = prompt.map(({ message }) => message);
    expect(said(withAdded([1, 0], reply()))).toEqual(messages);
    expect(said(withAdded([2, 1], reply()))).toHaveLength(5);
    const replies = [go, plain([2, 0], reply()), plain([2, 5], reply()), thanks];
    expect(editedEntries(replies, noEdit, false)).toEqual(replies);
    const behind = withAdded([2, 5], reply());
    expect(editedEntries(replies, behind, false)).toEqual(replies);
  });
});
