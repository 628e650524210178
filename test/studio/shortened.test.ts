/** What the studio leaves out of a long prompt until a person asks for it. */

import { describe, expect, it } from "vitest";
import { cutChange, cutMessage } from "../../src/server/studio/shortened.ts";

const result = (value: unknown) =>
  ({
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "a", toolName: "read", output: { type: "json", value } },
    ],
  }) as never;

describe("a message that is cut", () => {
  it("is short, keeps its form, and says how long the whole is", () => {
    const rows = Array.from({ length: 30_000 }, (_, row) => ({ row, text: "x".repeat(90) }));
    const deep = Array.from({ length: 90 }, () =>
      Array.from({ length: 90 }, () => rows.slice(0, 3)),
    );
    const byName = Object.fromEntries(rows.map(({ row, text }) => [`row ${row}`, text]));
    for (const value of ["y".repeat(3_000_000), rows, deep, byName]) {
      const message = result(value);
      const cut = cutMessage(message);
      expect(cut).toMatchObject({
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "a", output: { type: "json" } }],
        characters: JSON.stringify(message["content"]).length - 2,
      });
      expect(JSON.stringify(cut).length).toBeLessThan(25_000);
      expect(cutChange({ kind: "added", why: "new", index: 1, message } as never)).toMatchObject({
        message: cut,
      });
    }
  });

  it("is every long one: each part has its own length, and a text is cut too", () => {
    const part = { type: "text", text: "z".repeat(20_000) } as const;
    const cut = cutMessage({ role: "user", content: [part, { type: "text", text: "End." }, part] });
    const long = `${"z".repeat(10_000 - 8)}…`;
    expect(cut.content).toEqual([
      { type: "text", text: long },
      { type: "text", text: "End." },
      { type: "text", text: long },
    ]);
    const text = cutMessage({ role: "user", content: part.text });
    expect(text).toEqual({
      role: "user",
      content: `${part.text.slice(0, 10_000)}…`,
      characters: 20_002,
    });
  });

  it("is no short one", () => {
    const message = result(["short", 1, null, { a: true }]);
    expect(cutMessage(message)).toBe(message);
  });
});
