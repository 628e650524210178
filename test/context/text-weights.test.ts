/**
 * Estimates of texts of each kind, beside what o200k counts. The log records estimates, and compactions depend on
 * them: a weight that changes shows here, and is fitted anew (docs/decisions/0016-the-size-of-a-prompt.md).
 */

import { describe, expect, it } from "vitest";
import { textTokens } from "../../src/context/estimate/text-tokens.ts";

/** Text, o200k's count, our estimate. */
const texts: readonly (readonly [
  kind: string,
  text: string,
  counted: number,
  estimated: number,
])[] = [
  ["words of one letter", "a b c d e f g h i j k", 11, 11.8],
  ["short words", "the cat sat on the mat and ran to the far end", 12, 12.3],
  ["words of five to seven letters", "simple people walked towards another planet", 6, 5.5],
  ["longer words", "building something universal", 3, 3.25],
  ["long words", "considerable information", 3, 2.75],
  ["the longest words", "responsibilities internationalization", 4, 8.55],
  [
    "words at the beginning of lines",
    "a\nof\nplan\nsimple\nbuilding\ninformation\nresponsibilities",
    14,
    18.15,
  ],
  ["capitalised words", "Paris London Amsterdam Copenhagen", 4, 3.9],
  ["capitals", "THE HTTP API AND XML A", 6, 6.8],
  ["identifiers", "getUserNameById setXMLHttpRequest parseJSONFile", 12, 11.45],
  ["numbers", "7 42 365 2026 12345 1234567", 15, 15.25],
  ["indented lines", "if:\n        return 1\n    x\n\t\ty\n", 13, 13.85],
  ["lines after signs", "{\n}\n;\n", 3, 3],
  ["single signs", "(a) [b] #c @D -1 $", 12, 12.85],
  ["pairs of signs", "a == b && c || d => e", 9, 10.1],
  ["rows of signs", "--- ===== *** <!-- -->", 5, 6.5],
  ["JSON", '{"name":"a","list":[1,2,3],"ok":true}', 17, 17.6],
  ["hashes", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", 26, 23.2],
  ["base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ/Ab+=", 24, 18.15],
  ["ids that are too short to be one", "a1b2c3d4e5f6a7b8c9d", 19, 22],
  ["Latin letters with diacritics", "Übergänge größer naïve déjà été", 8, 15.95],
  ["letters of phonetics", "ɐɑɒɓɔɕɖɗəɛɜɞ", 18, 12],
  ["Greek", "Ο σκύλος τρέχει γρήγορα στον κήπο", 15, 16.8],
  ["Cyrillic", "Быстрая лиса прыгает через собаку", 12, 10.15],
  ["Hebrew", "הכלב רץ מהר בגינה הגדולה", 10, 12],
  ["Arabic", "الكلب يجري بسرعة في الحديقة الكبيرة", 10, 10.5],
  ["Hindi", "कुत्ता बगीचे में तेजी से दौड़ता है", 13, 16.8],
  ["arrows and boxes", "→ ← ⇒ • … ┌─┐ │ └─┘", 16, 7.8],
  ["CJK punctuation", "。、「」『』・", 6, 6.55],
  ["Kana", "いぬはまいあさにわではしります", 13, 8.25],
  ["Han", "那只狗每天早上在花园里快跑", 12, 10.4],
  ["Hangul", "강아지는 매일 아침 정원에서 달린다", 13, 9.75],
  ["emoji", "😀🚀🎉👍", 6, 8.4],
  ["full width", "ＡＢＣ，！１２３", 7, 7.2],
];

it.each(texts)("%s are estimated as they were fitted", (_, text, counted, estimated) => {
  expect(textTokens(text)).toBeCloseTo(estimated, 6);
  // One sentence may be off by half; the fit is of many.
  expect(estimated).toBeGreaterThan(counted / 2 - 1);
  expect(estimated).toBeLessThan(2 * counted + 1);
});

describe("a character", () => {
  // By Unicode blocks: where each begins whose characters cost something else.
  const beginnings = [
    0x80, 0x250, 0x370, 0x400, 0x530, 0x600, 0x780, 0x2000, 0x2e00, 0x3040, 0x3100, 0x3400, 0xa000,
    0xac00, 0xd7b0, 0xd800, 0xe000, 0xff00,
  ];
  const cost = (code: number): number => textTokens(String.fromCharCode(code));

  it("costs the same in a whole script, up to its last one", () => {
    for (const [index, first] of beginnings.entries()) {
      const last = (beginnings[index + 1] ?? 0x10000) - 1;
      expect([first.toString(16), cost(first)]).toEqual([first.toString(16), cost(last)]);
    }
  });
});

describe("a run of letters and digits", () => {
  const dense = "a1B2c3D4e5F6g7H8i9J0";

  it("of twenty characters that often change their kind is data, and a shorter one is words", () => {
    expect(textTokens(dense)).toBeCloseTo(20 * 0.67, 6);
    expect(textTokens(dense.slice(0, 19))).toBeGreaterThan(19 * 0.67 + 1);
    // Few capitals, as in a hash.
    expect(textTokens(dense.toLowerCase())).toBeCloseTo(20 * 0.58, 6);
    expect(textTokens("A1b2c3d4e5f6g7h8i9j0")).toBeCloseTo(20 * 0.58, 6);
    expect(textTokens("A1B2C3d4e5f6g7h8i9j0")).toBeCloseTo(20 * 0.67, 6);
    expect(textTokens("A1B2c3d4e5f6g7h8i9j0")).toBeCloseTo(20 * 0.58, 6);
  });

  it("is words if it changes in little more than a quarter of its characters", () => {
    // 6 changes in 21 characters are more than 28 of a hundred, 7 in 25 are as many.
    expect(textTokens("aaa111aaa111aaa111aaa")).toBeCloseTo(21 * 0.58, 6);
    const exactly = "aaa111aaa111aaa111aaa1111";
    expect(textTokens(exactly)).not.toBeCloseTo(25 * 0.58, 6);
  });

  it("does not change where a capital begins a word, and continues over the signs of base64", () => {
    const words = ["Get", "Reservation", "Details", "By", "User"];
    const apart = words.reduce((sum, word) => sum + textTokens(word), 0);
    expect(textTokens(words.join(""))).toBeCloseTo(apart, 6);
    expect(textTokens("a1b2c3d4e5/6+7=8a9b0")).toBeCloseTo(20 * 0.58, 6);
    for (const sign of ["-", ".", "_", " ", "é"])
      expect(textTokens(`a1b2c3d4e5${sign}6a7b8c9d0`)).not.toBeCloseTo(20 * 0.58, 6);
  });

  it("is words in a path, however often it is divided", () => {
    expect(textTokens("src/io/fs/net/os/tty/zip/url.ts")).toBeLessThan(20);
  });

  it("is data behind words and before them", () => {
    const apart = textTokens("See ") + textTokens(dense) + textTokens(" there");
    expect(textTokens(`See ${dense} there`)).toBeCloseTo(apart, 6);
  });
});

it("the words of identifiers are more tokens for a smaller vocabulary, and numbers as many", () => {
  const text = "parsed_options.find_by_name(argument_parser)";
  expect(textTokens(text, "deepseek")).toBeGreaterThan(textTokens(text) * 1.1);
  expect(textTokens("365 2026", "deepseek")).toBeLessThan(textTokens("365 2026") * 1.05);
});

it("a long text without a space, and one with many, is the sum of its lines", () => {
  const words = "word ".repeat(30_000);
  expect(textTokens(words)).toBeCloseTo(29_999 * textTokens(" word") + textTokens("word"), 3);
  const dots = ".a".repeat(40_000);
  expect(textTokens(dots)).toBeCloseTo(40_000 * textTokens(".a"), 3);
  const spaces = `a${" ".repeat(70_000)}b`;
  expect(textTokens(spaces)).toBeCloseTo(textTokens("a  b"), 6);
});
