/** Long things in few words, and text that a terminal does not obey. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonSchema } from "../../src/events/index.ts";
import {
  callLabel,
  outcomeLabel,
  amount,
  contentText,
  duration,
  excerpt,
  tokens,
} from "../../src/cli/wording/wording.ts";
import { visibleText } from "../../src/cli/output/visible-text.ts";

describe("a tool call on one line", () => {
  it("names the tool and its input", () => {
    expect(callLabel("search_files", { query: "zod", regex: false }, 80)).toBe(
      'search_files query="zod" regex=false',
    );
    expect(callLabel("now", {}, 80)).toBe("now");
    expect(callLabel("odd", "text", 80)).toBe('odd "text"');
  });

  it("is never longer than its name and the length that it is given, nor two lines", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.jsonValue(),
        fc.integer({ min: 1, max: 120 }),
        (key, value, length) => {
          const input = jsonSchema.parse(JSON.parse(JSON.stringify({ [key]: value })));
          const label = callLabel("tool", input, length);
          expect(label.length).toBeLessThanOrEqual("tool ".length + length);
          expect(label).not.toContain("\n");
        },
      ),
    );
  });

  it.each([
    [{ path: ".", entries: ["a", "b"] }, {}, "2 entries"],
    [{ matches: [1], passedOver: [1, 2] }, {}, "1 match, 2 passedOver"],
    [
      { path: "a.ts", text: "x".repeat(3201), startLine: 1 },
      { startLine: 1 },
      "text 3,201 characters",
    ],
    [{ path: "a.ts", bytes: 12, created: true }, {}, "bytes 12, created true"],
    ["a short answer", {}, "a short answer"],
    [[1, 2, 3], {}, "3 items"],
    [null, {}, "null"],
    [{}, {}, "done"],
  ])("says what an output holds: %j", (output, input, words) => {
    expect(outcomeLabel(output, input)).toBe(words);
  });
});

describe("what a user sent", () => {
  it("is shown with its files by name, and with the provider of uploaded ones", () => {
    const reference = { openai: "file-1", anthropic: "file_2" };
    const file = { type: "file" as const, mediaType: "image/png", data: "aGk=" };
    const uploaded = { ...file, data: { type: "reference" as const, reference } };
    expect(
      contentText([
        { type: "text", text: "Look." },
        { ...file, filename: "a.png" },
        uploaded,
        { ...uploaded, filename: "b.png" },
      ]).split("\n"),
    ).toEqual([
      "Look.",
      "[a.png]",
      "[image/png, openai: file-1, anthropic: file_2]",
      "[b.png, openai: file-1, anthropic: file_2]",
    ]);
  });
});

describe("figures", () => {
  it("are put as people say them", () => {
    expect([amount(1, "file"), amount(1200, "file")]).toEqual(["1 file", "1,200 files"]);
    expect([7, 1234, 61_000].map(duration)).toEqual(["7 ms", "1.2 s", "1 min 1 s"]);
    expect(excerpt("  two\n lines ", 7)).toBe("two li…");
  });

  it("say which tokens were estimated, cached and spent on reasoning", () => {
    const usage = { inputTokens: 1200, outputTokens: 34 };
    expect(tokens({ basis: "measured", ...usage })).toBe("1,200 in, 34 out");
    expect(
      tokens({ basis: "estimated", ...usage, cacheReadTokens: 1000, reasoningTokens: 4 }),
    ).toBe("~1,200 in (1,000 cached), ~34 out (4 reasoning)");
  });
});

describe("text for a terminal", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 });
  // oxlint-disable-next-line no-control-regex
  const obeyed = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/u;

  it("holds nothing that a terminal obeys but line ends and tabs", () => {
    fc.assert(
      fc.property(text, (any) => {
        expect(visibleText(any)).not.toMatch(obeyed);
      }),
    );
    expect(visibleText("\u001B[31mred\tand\r\nnext")).toBe("␛[31mred\tand\nnext");
  });

  it("leaves text as it is that holds no such thing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (any) => {
        fc.pre(!obeyed.test(any));
        expect(visibleText(any)).toBe(any);
      }),
    );
  });
});
