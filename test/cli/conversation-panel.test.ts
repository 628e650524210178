/** The rows at the bottom of a chat, by the state of the session and the size of the window. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { panel } from "../../src/cli/chat/screen/conversation-panel.ts";
import type { ConversationState } from "../../src/cli/chat/screen/conversation-state.ts";
import { cellsOf } from "../../src/cli/terminal/cells.ts";
import { emptyDraft } from "../../src/cli/terminal/draft.ts";
import { newConversation } from "./new-conversation.ts";

const window = { columns: 80, rows: 24, style: (_style: unknown, text: string) => text };
const plain = {
  ...window,
  draft: emptyDraft,
  hint: undefined,
  choices: [],
  standing: [],
  elapsed: undefined,
};

function rows(state: Partial<ConversationState>, more: Partial<Parameters<typeof panel>[0]> = {}) {
  const all = { ...newConversation, ...state };
  return panel({ ...plain, state: all, ...more }).lines;
}

function waiting(
  ...messages: readonly (readonly [text: string, delivery: "steer" | "follow-up"])[]
) {
  return messages.map(([content, delivery], index) => {
    const number = index + 1;
    return { id: `m${number}`, content, delivery, position: number, time: 0, number };
  });
}

const held = {
  of: "session",
  unit: "dollars",
  limit: 5,
  spent: 4.99,
  position: 9,
  askedAt: 0,
} as const;

const asked = {
  callId: "c1",
  toolName: "write_file",
  input: { path: "a.txt" },
  status: "awaiting-approval",
} as const;

describe("the panel of a chat", () => {
  it("says what can be pressed when nothing runs", () => {
    expect(rows({})).toEqual(["", "Ask about this folder · /help · Ctrl-D leaves", "> "]);
  });

  it("says at rest what answers and how full its context is, and at work how long it takes", () => {
    expect(rows({}, { standing: ["tiny", "3.4 % full"] }).at(-2)).toMatch(
      /Ctrl-D leaves · tiny · 3\.4 % full$/,
    );
    expect(rows({ activity: "turn" }, { elapsed: 1900 }).at(-2)).toMatch(/^Working · /);
    expect(rows({ activity: "turn" }, { elapsed: 12_900 }).at(-2)).toMatch(/^Working 12 s · /);
    expect(rows({ activity: "turn" }, { elapsed: 65_000 }).at(-2)).toMatch(/^Working 1 min 5 s · /);
  });

  it("shows control characters of a hint and of a model's name, and obeys none", () => {
    const forged = "a\n\u001B[2Jb";
    const shown = [...rows({}, { hint: forged }), ...rows({}, { standing: [forged] })];
    expect(shown.filter((row) => row.includes("a␊␛[2Jb"))).toHaveLength(2);
    expect(shown.filter((row) => row.includes("\u001B") || row.includes("\n"))).toEqual([]);
  });

  it("shows a long message on several rows, and marks those next to hidden ones", () => {
    const typed = (lines: number, after = "") => {
      const before = Array.from({ length: lines }, (_, line) => `line ${line}`).join("\n");
      const { lines: shown, below } = panel({
        ...plain,
        state: newConversation,
        draft: { before, after },
      });
      return { shown: shown.slice(2), below };
    };
    expect(typed(3, "\nmore")).toEqual({
      shown: ["> line 0", "  line 1", "  line 2", "  more"],
      below: 1,
    });
    const { shown, below } = typed(20, "\nmore");
    expect(shown).toHaveLength(8);
    expect(shown.at(0)).toBe("… line 12");
    expect(shown.at(-1)).toBe("… line 19");
    expect(below).toBe(0);
  });

  it("shows what waits, in its order, and when it goes to the model", () => {
    const queue = waiting(["look in src", "follow-up"], ["only\nts files", "steer"]);
    expect(rows({ activity: "turn", queue })).toEqual([
      "",
      "1 after the turn: look in src",
      "2 next step: only ts files",
      "Working · Enter queues · Tab steers · Esc cancels",
      "> ",
    ]);
    expect(rows({ held: true, queue })).toEqual([
      "",
      "1 held back: look in src",
      "2 held back: only ts files",
      "Enter delivers them · /withdraw · /help",
      "> ",
    ]);
  });

  it("asks about one call at a time, and says how to answer", () => {
    expect(rows({ activity: "turn", calls: [asked, { ...asked, callId: "c2" }] })).toEqual([
      "",
      '? Run write_file path="a.txt"? (1 of 2)',
      "y yes · n no, n <why> · a always, v never write_file · Tab steers · Esc cancels",
      "> ",
    ]);
    // Of a turn that stops, nobody is asked.
    expect(rows({ activity: "turn", calls: [asked], stopping: "now" }).join()).not.toContain("?");
  });

  it.each<[Partial<ConversationState>, RegExp]>([
    [{ activity: "turn", calls: [{ ...asked, status: "running" }] }, /^Running write_file · /],
    [{ activity: "retrying" }, /^Waiting to try again · /],
    [{ activity: "turn", stopping: "after-tools" }, /^Stopping after the tools · Esc stops them/],
    [{ activity: "turn", stopping: "now" }, /^Stopping · Ctrl-C leaves immediately/],
    [{ activity: "turn", budget: held }, /^\/allow <dollars> lets it continue · Esc cancels/],
  ])("says what is going on: %j", (state, said) => {
    expect(rows(state).at(-2)).toMatch(said);
  });

  it("says how many more wait where there is no room for all", () => {
    const queue = waiting(...Array.from({ length: 30 }, () => ["text", "steer"] as const));
    const shown = rows({ activity: "turn", queue }, { rows: 12 });
    expect(shown.length).toBeLessThan(12);
    expect(shown.find((row) => row.startsWith("…"))).toBe("… 24 messages more, /queue");
  });

  it("never takes more than the window has, nor a row more cells, and shows the cursor", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 120 });
    const state = fc.record({
      activity: fc.constantFrom("idle", "turn", "retrying", "compacting"),
      held: fc.boolean(),
      stopping: fc.constantFrom(undefined, "now", "after-tools"),
      queue: fc
        .array(text, { maxLength: 20 })
        .map((texts) => waiting(...texts.map((one) => [one, "steer"] as const))),
      calls: fc
        .array(text, { maxLength: 3 })
        .map((texts) =>
          texts.map((of, index) => ({ ...asked, callId: `c${index}`, input: { of } })),
        ),
      budget: fc.option(
        text.map((of) => ({ ...held, of })),
        { nil: undefined },
      ),
      folds: fc.constant(newConversation.folds),
    }) satisfies fc.Arbitrary<ConversationState>;
    const options = fc.record({
      state,
      draft: fc.record({ before: text, after: text }),
      hint: fc.option(text, { nil: undefined }),
      choices: fc.array(fc.record({ name: text, what: text }), { maxLength: 12 }),
      standing: fc.array(text, { maxLength: 2 }),
      elapsed: fc.option(fc.nat(), { nil: undefined }),
      columns: fc.integer({ min: 12, max: 120 }),
      rows: fc.integer({ min: 2, max: 50 }),
    });
    fc.assert(
      fc.property(options, (given) => {
        const { lines, below, column } = panel({ ...window, ...given });
        expect(lines.length).toBeLessThan(given.rows);
        for (const line of lines) expect(cellsOf(line)).toBeLessThan(given.columns);
        for (const line of lines) expect(line).not.toMatch(/[\n\t]/);
        expect(column).toBeLessThan(given.columns);
        expect(lines.at(-1 - below)).toMatch(/^[> …] /);
      }),
    );
  });
});
