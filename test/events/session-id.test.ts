/** A session id is text of a URL's path; its segments never meet. */

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  askedId,
  fromSegment,
  isRepeatOf,
  parseSessionId,
  repeatedId,
  segmentOf,
  sessionOfAsked,
  shellWord,
} from "../../src/events/index.ts";
import { runs } from "../support/runs.ts";

const characters = "azAZ09-._~!$&'()*+,;=:@%/".split("");
const ids = fc
  .array(fc.constantFrom(...characters), { maxLength: 12 })
  .map((rest) => `s${rest.join("")}`);

it("comes back from its segment and from the ids of its questions, which need no escape", () => {
  fc.assert(
    fc.property(ids, (id) => {
      expect(parseSessionId(id)).toBe(id);
      expect(fromSegment(segmentOf(id))).toBe(id);
      expect(segmentOf(id)).toMatch(/^[\w.:@=-]+$/);
      expect(sessionOfAsked(askedId(id, { turn: 1, step: 2 }, "c~/1"))).toBe(id);
    }),
    runs(300),
  );
});

it("is in no text that is no id of a question", () => {
  for (const text of ["", "s", "call_0", "~1~2~c"]) expect(sessionOfAsked(text)).toBe("");
});

it("keeps ids apart, and prefixes prefixes", () => {
  fc.assert(
    fc.property(ids, ids, (one, other) => {
      expect(segmentOf(one) === segmentOf(other)).toBe(one === other);
      expect(segmentOf(one).startsWith(segmentOf(other))).toBe(one.startsWith(other));
    }),
    runs(300),
  );
  expect(segmentOf("a/b=002f")).toBe("a=002fb=003d002f");
});

it("keeps the ids of the first release as they are, and refuses what no path has", () => {
  for (const id of ["s-1", "A.b_c:d@e-f", "0".repeat(128)]) expect(segmentOf(id)).toBe(id);
  expect(parseSessionId("a".repeat(512))).toHaveLength(512);
  for (const id of ["", "/a", "-a", "~a", "a b", "a\n", "a\u0000", "a?b", "a#b", "ä", "a\\b", 7])
    expect(() => parseSessionId(id)).toThrow("A session id is 1 to 512 characters");
  expect(() => parseSessionId("a".repeat(513))).toThrow("A session id is");
});

it("is one word of a shell", () => {
  expect(shellWord("team/a-1@x")).toBe("team/a-1@x");
  expect(shellWord("a$(b)'c")).toBe(`'a$(b)'\\''c'`);
});

it("tells which call's id was used again in its reply, and takes no other for it", () => {
  expect(repeatedId("call_0", 2)).toBe("call_0@2");
  for (const given of ["call_0", "a@b", ""])
    expect(isRepeatOf(repeatedId(given, 12), given)).toBe(true);
  for (const id of ["call_0", "call_0@", "call_0@x", "call_1@2", "xcall_0@2"])
    expect(isRepeatOf(id, "call_0")).toBe(false);
});
