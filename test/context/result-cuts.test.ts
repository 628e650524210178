/** A result that is longer than its share is shown by its beginning and its end, and can be read on. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { meter } from "../../src/context/estimate/message-size.ts";
import {
  pageLimit,
  planCuts,
  type CutPlanning,
  resultShare,
  type CutOptions,
  resultPage,
} from "../../src/context/shortening/result-cuts.ts";
import type { EventBody, ModelOutput } from "../../src/events/index.ts";
import { cutItem, itemMessages, promptMessages } from "../../src/projections/index.ts";
import { defaultEstimator } from "../../src/context/index.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { containing } from "../runtime/tools.ts";
import { gpt, Session } from "./session.ts";
import { runs } from "../support/runs.ts";

const estimator = defaultEstimator;
const count = (text: string): number => estimator.text(text);
const ground = { meter: meter(estimator, gpt), factor: 1, messageTokens: 4000 };

/** A session whose only step has called a tool once for each of these results. */
function withResults(
  ...results: readonly (string | Omit<EventBody<"tool.succeeded">["data"], "step" | "callId">)[]
): Session {
  const session = new Session();
  session.ask("Read it.");
  session.start();
  for (const [index] of results.entries()) session.call(`c${index}`);
  session.finish({}, "tool-calls");
  for (const [index, result] of results.entries()) {
    const told = typeof result === "string" ? { output: result } : result;
    session.record({ type: "tool.succeeded", data: { step: 1, callId: `c${index}`, ...told } });
  }
  return session;
}

/** Cuts as the runtime does: the plan becomes an event. */
function cut(
  session: Session,
  more: Partial<CutPlanning> = {},
): EventBody<"context.cut">["data"] | undefined {
  const { history, view } = session;
  const plan = planCuts({ history, view, budget: ground, reader: "read_on", ...more });
  if (plan === undefined) return undefined;
  const data = { ...plan, reader: "read_on" };
  session.record({ type: "context.cut", data });
  return data;
}

/** The results as the model is shown them. */
function shown({ history, view }: Session): readonly ModelOutput[] {
  return promptMessages(history, view).flatMap(({ role, content }) =>
    role === "tool"
      ? content.flatMap((part) => (part.type === "tool-result" ? [part.output] : []))
      : [],
  );
}

function textOf(output: ModelOutput | undefined): string {
  if (output?.type === "text" || output?.type === "error-text") return output.value;
  throw new Error(`Not shown as text: ${JSON.stringify(output)}`);
}

/** Every kind of text that is counted in its own way, and characters that take two units. */
const anyText = fc
  .array(
    fc.oneof(
      fc.stringMatching(/^[a-z ]{1,40}$/).map((line) => `${line}\n`),
      fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
      fc.constantFrom(
        "😀".repeat(30),
        "漢字かな".repeat(10),
        "QmFzZTY0".repeat(12),
        "\n\n",
        '{"a":[1,2]}',
      ),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .chain((pieces) => fc.integer({ min: 1, max: 60 }).map((times) => pieces.join("").repeat(times)));

describe("a result that is too long", () => {
  it("is never shown with more tokens than its share, and says truly how much is left out, whatever it holds", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 800, max: 8000 }), (text, messageTokens) => {
        const session = withResults(text);
        const planning = { ...ground, messageTokens };
        const limit = resultShare(planning).result;
        const data = cut(session, { budget: planning });
        const now = textOf(shown(session)[0]);
        expect(data === undefined).toBe(count(text) <= limit);
        const ends = data?.calls[0] ?? { head: text.length, tail: 0 };
        expect(count(now)).toBeLessThanOrEqual(limit);
        const head = text.slice(0, ends.head);
        const tail = text.slice(text.length - ends.tail);
        expect(now.startsWith(head)).toBe(true);
        expect(now.endsWith(tail)).toBe(true);
        const note = now.slice(head.length, now.length - tail.length);
        const left = text.length - ends.head - ends.tail;
        const told = `[${left} of ${text.length} characters left out here. To read them: read_on({"call":"1.1","from":${ends.head}})]`;
        expect(note.trim()).toBe(left === 0 ? "" : told);
        expect(now.isWellFormed()).toBe(true);
        // A little of it is not all that is shown.
        expect(count(now)).toBeGreaterThan(Math.min(count(text) - 1, limit / 4));
      }),
    );
  });

  it("is had back whole by its pages, each within its limit and no character parted", () => {
    fc.assert(
      fc.property(
        anyText,
        fc.integer({ min: 40, max: 400 }),
        fc.option(fc.integer({ min: 1, max: 500 }), { nil: undefined }),
        (text, limit, length) => {
          const pages: string[] = [];
          let from = 0;
          while (from < text.length) {
            const page = resultPage(
              text,
              { from, ...(length === undefined ? {} : { length }) },
              limit,
              count,
            );
            expect([page.from, page.to > from]).toEqual([from, true]);
            expect(page.to - from <= 2 || count(page.shown) <= limit).toBe(true);
            expect(page.to - from).toBeLessThanOrEqual(Math.max(2, length ?? Infinity));
            expect(page.shown.endsWith(`]\n${page.text}`)).toBe(true);
            expect(page.text.isWellFormed()).toBe(true);
            pages.push(page.text);
            from = page.to;
          }
          expect(pages.join("")).toBe(text);
        },
      ),
      runs(60),
    );
  });

  it("is cut at whole lines where there are some", () => {
    const session = withResults("a line of the log\n".repeat(2000));
    cut(session);
    const lines = textOf(shown(session)[0]).split("\n");
    expect(new Set(lines.filter((line) => !line.startsWith("[")))).toEqual(
      new Set(["a line of the log", ""]),
    );
  });

  it("is told from its neighbours: those that need less than an even part leave it more", () => {
    const one = "one word and another ".repeat(1000);
    const alone = withResults(one);
    cut(alone);
    const three = withResults(one, "short", one, one);
    const data = cut(three);
    expect(data?.calls.map(({ callId }) => callId)).toEqual(["c0", "c2", "c3"]);
    const sizes = shown(three).map((output) => count(textOf(output)));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(0.5 * 4000);
    expect(sizes[0]).toBeGreaterThan(600);
    expect(count(textOf(shown(alone)[0]))).toBeGreaterThan(900);
  });

  it("stays what it was for the provider: an error an error, media in its place, JSON as text", () => {
    const long = "word ".repeat(3000);
    const image = {
      type: "file",
      data: { type: "data", data: "AAAA" },
      mediaType: "image/png",
    } as const;
    const session = withResults(
      { output: { list: long } },
      { output: null, modelOutput: { type: "error-text", value: long } },
      {
        output: null,
        modelOutput: {
          type: "content",
          value: [{ type: "text", text: long }, image, { type: "text", text: `${long}end` }],
        },
      },
    );
    cut(session);
    const [json, error, content] = shown(session);
    expect(textOf(json)).toMatch(/^\{"list":"word [^]* characters left out here[^]*word "\}$/);
    expect(error?.type).toBe("error-text");
    if (content?.type !== "content") throw new Error("The parts are gone.");
    const [first, second, third] = content.value;
    expect(first).toMatchObject({ text: containing("left out here") });
    expect(second).toEqual(image);
    expect(third && "text" in third && third.text.endsWith("word end")).toBe(true);
    expect(promptProblems(promptMessages(session.history, session.view))).toEqual([]);
  });

  it("is one of a call that failed, too", () => {
    const session = withResults();
    session.start();
    session.call("bad");
    session.finish({}, "tool-calls");
    const message = "no such file ".repeat(3000);
    session.record({
      type: "tool.failed",
      data: { step: 2, callId: "bad", error: { name: "Error", message } },
    });
    cut(session);
    const [output] = shown(session);
    expect(output?.type).toBe("error-text");
    expect(textOf(output)).toContain('read_on({"call":"2.1"');
  });

  it("stays whole where its tool is named, where it was had back, and once a model has answered to it", () => {
    const long = "word ".repeat(3000);
    const options: CutOptions = { keepTools: ["read"] };
    expect(cut(withResults(long), { options })).toBeUndefined();

    const restored = withResults(long);
    const before = JSON.stringify(promptMessages(restored.history, restored.view));
    cut(restored);
    const { position } = restored;
    expect(cut(restored)).toBeUndefined();
    restored.record({ type: "context.restored", data: { position } });
    expect(JSON.stringify(promptMessages(restored.history, restored.view))).toBe(before);
    expect(cut(restored)).toBeUndefined();

    const answered = withResults(long);
    answered.start();
    answered.say("I have");
    expect(cut(answered)).toBeUndefined();
    const refused = withResults(long);
    refused.start();
    expect(cut(refused)).toBeDefined();
  });

  it("is cut again, from the whole, where the window turns out to be smaller", () => {
    const session = withResults("word ".repeat(3000));
    cut(session);
    cut(session, { budget: { ...ground, messageTokens: 1200 } });
    const now = textOf(shown(session)[0]);
    expect(count(now)).toBeLessThanOrEqual(300);
    expect(now.match(/left out here/g)).toHaveLength(1);
  });

  it("is counted as it is shown by the plain count of its characters as well", () => {
    const session = withResults("word ".repeat(30_000));
    const planning = { ...ground, meter: meter(lengthEstimator, gpt) };
    cut(session, { budget: planning });
    const { open } = session.history;
    if (open === undefined) throw new Error("No step is open.");
    const messages = itemMessages(cutItem(open, session.view));
    expect(JSON.stringify(messages).length / 4).toBeLessThan(1200);
  });
});

it("is planned by no option that does not exist", () => {
  const options = { shares: 0.5 } as CutOptions;
  expect(() => cut(withResults("short"), { options })).toThrow(/shares/);
});

describe("the size of a cut", () => {
  const long = "word ".repeat(3000);

  it("is a share of the room for messages, all results of a step have half, and never too little", () => {
    expect(resultShare({ messageTokens: 100_000 })).toEqual({ result: 25_000, step: 50_000 });
    expect(resultShare({ messageTokens: 10_000 }, { share: 0.8 })).toEqual({
      result: 8000,
      step: 8000,
    });
    expect(resultShare({ messageTokens: 400 })).toEqual({ result: 200, step: 200 });
    expect(resultShare({})).toEqual({ result: 20_000, step: 40_000 });
  });

  it("of a page is half of a result's, and an even part of the step's", () => {
    const share = { result: 2000, step: 3000 };
    const sizes = [0, 1, 2, 3, 6, 100].map((calls) => pageLimit(share, calls));
    expect(sizes).toEqual([1000, 1000, 1000, 1000, 500, 200]);
  });

  it("is what the plan says that it saves", () => {
    const session = withResults(long, long);
    const before = shown(session).map((output) => count(textOf(output)));
    const saved = cut(session)?.savedTokens;
    const after = shown(session).map((output) => count(textOf(output)));
    const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);
    // A result has a few tokens around its text.
    expect(Math.abs(sum(before) - sum(after) - (saved ?? 0))).toBeLessThan(40);
  });

  it("is smaller where a token of the model is worth more than was counted", () => {
    const [usual, twice] = [withResults(long), withResults(long)];
    cut(usual);
    cut(twice, { budget: { ...ground, factor: 2 } });
    const [one, other] = [usual, twice].map((session) => count(textOf(shown(session)[0])));
    expect(other).toBeLessThanOrEqual(500);
    expect(one).toBeGreaterThan(1.6 * (other ?? 0));
    const middling = withResults("word ".repeat(700));
    expect(cut(middling)).toBeUndefined();
    expect(cut(middling, { budget: { ...ground, factor: 2 } })).toBeDefined();
  });

  it("leaves to the long results what is left beside the middling ones, which stay whole", () => {
    const middling = "word ".repeat(300);
    const session = withResults(middling, long, middling, long);
    const plan = cut(session);
    expect(plan?.calls.map(({ callId }) => callId)).toEqual(["c1", "c3"]);
    const sizes = shown(session).map((output) => count(textOf(output)));
    const sum = sizes.reduce((all, size) => all + size, 0);
    expect(sum).toBeLessThanOrEqual(0.5 * 4000);
    expect(sum).toBeGreaterThan(0.45 * 4000);
  });

  it("is none where a result has exactly its share", () => {
    const size = count(long);
    const budget = { ...ground, messageTokens: 4 * size };
    expect(cut(withResults(long), { budget })).toBeUndefined();
    expect(cut(withResults(`${long}more`), { budget })).toBeDefined();
  });

  it("is found without counting the whole again, however long it is", () => {
    const whole = "word ".repeat(100_000);
    const counted: number[] = [];
    const watched = {
      ...estimator,
      text: (text: string): number => {
        counted.push(text.length);
        return estimator.text(text);
      },
    };
    cut(withResults(whole), { budget: { ...ground, meter: meter(watched, gpt) } });
    const again = counted.filter((length) => length !== whole.length);
    expect(counted.length - again.length).toBe(1);
    expect(again.length).toBeGreaterThan(0);
    expect(again.reduce((sum, length) => sum + length, 0)).toBeLessThan(whole.length / 10);
  });

  it("is the note alone where not even that fits, and then it saves nothing", () => {
    const session = withResults(`\n${"word ".repeat(22)}`);
    const data = cut(session, { budget: { ...ground, factor: 50 } });
    expect(data).toMatchObject({ calls: [{ head: 0, tail: 0 }], savedTokens: 0 });
  });

  it("is three quarters at the beginning, and reaches back to a line only where that is near", () => {
    const far = `title\n${"x y ".repeat(4000)}\nend`;
    for (const text of [long, far]) {
      const { head = 0, tail = 0 } = cut(withResults(text))?.calls[0] ?? {};
      expect(head / (head + tail)).toBeGreaterThan(0.74);
      expect(head / (head + tail)).toBeLessThan(0.76);
    }
    const lines = `${"x".repeat(150)}\n`.repeat(200);
    const { head = 0, tail = 0 } = cut(withResults(lines))?.calls[0] ?? {};
    expect([head % 151, tail % 151]).toEqual([0, 0]);
    expect(Math.min(head, tail)).toBeGreaterThan(0);
  });

  it("ends exactly at a line's end and begins exactly at a line, where it would without lines too", () => {
    const budget = { ...ground, meter: meter(lengthEstimator, gpt) };
    const plain = "x".repeat(40_000);
    const { head = 0, tail = 0 } = cut(withResults(plain), { budget })?.calls[0] ?? {};
    const characters = plain.split("");
    // Where the plan tries first, and a tenth less, where the note fits too.
    for (const [first, last] of [
      [head / 0.9, tail / 0.9],
      [head, tail],
    ] as const)
      for (const end of [first - 4, first, plain.length - last, plain.length - last + 4])
        characters[Math.round(end) - 1] = "\n";
    const calls = cut(withResults(characters.join("")), { budget })?.calls;
    expect(head).toBeGreaterThan(tail);
    expect(calls).toMatchObject([{ head, tail }]);
  });

  it("is none for the call whose cut was undone, and for no other", () => {
    const session = withResults(long, long);
    const plan = cut(session);
    session.record({ type: "context.restored", data: { position: session.position } });
    expect(plan?.calls).toHaveLength(2);
    expect(cut(session)).toBeUndefined();
    session.start();
    session.call("c1");
    session.finish({}, "tool-calls");
    const data = { step: session.step, callId: "c1", output: long };
    session.record({ type: "tool.succeeded", data });
    expect(cut(session)?.calls).toMatchObject([{ step: session.step, callId: "c1" }]);
  });
});
