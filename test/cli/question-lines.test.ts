/** What is shown of a call before it is agreed to. */
import { describe, expect, it } from "vitest";
import { questionLines } from "../../src/cli/chat/call-lines.ts";
import type { JsonValue } from "../../src/events/index.ts";

function lines(input: JsonValue, reason?: string): readonly string[] {
  const call = { callId: "c1", toolName: "write", input, status: "awaiting-approval" } as const;
  return questionLines(reason === undefined ? call : { ...call, reason });
}

describe("a call that is asked about", () => {
  it("is shown field by field, texts as they are", () => {
    expect(lines({ path: "a.txt", text: "one\n  two\n", mode: { append: true } })).toEqual([
      "? write waits for your answer.",
      "    path: a.txt",
      "    text:",
      "      one",
      "        two",
      "      ",
      '    mode: {"append":true}',
    ]);
  });

  it("is shown whole when its input has no fields", () => {
    expect(lines(["rm", "-r"])).toEqual([
      "? write waits for your answer.",
      '    input: ["rm","-r"]',
    ]);
  });

  it("says why it is asked about, where somebody said so", () => {
    expect(lines({}, "Run it again?")).toEqual(["? write waits for your answer. Run it again?"]);
  });

  it("says how much of it is not shown", () => {
    const text = Array.from({ length: 15 }, (_, index) => `line ${index}`).join("\n");
    expect(lines({ text }).at(-1)).toBe("      … 3 lines more");
    expect(lines({ text: "x".repeat(450) }).at(-1)).toMatch(/x{400}… 50 characters more$/);
  });
});
