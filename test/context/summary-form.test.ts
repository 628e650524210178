/** The form of a summary: what is asked of a model, what is known without it, and what is read back. */

import { describe, expect, it } from "vitest";
import {
  HEADINGS,
  knownFacts,
  replyProblem,
  summaryText,
  writerInstructions,
  writerPrompt,
  writtenText,
} from "../../src/context/compaction/summary-form.ts";
import { Session } from "./session.ts";

it("a model is asked for all headings, and for fewer tokens than it may write", () => {
  const asked = writerInstructions(1000);
  expect(HEADINGS.every((heading) => asked.includes(`## ${heading}`))).toBe(true);
  expect(asked).toContain("no more than 700 words' worth of tokens");
});

it("a model gets the summary before, the number of pieces that are left out, and the conversation", () => {
  const said = { transcript: "USER: Go.", requests: [] };
  const plain = "<conversation>\nUSER: Go.\n</conversation>\n\nWrite the summary now.";
  expect(writerPrompt({ ...said, previous: "", leftOut: 0 })).toBe(plain);
  expect(writerPrompt({ ...said, previous: "Old.", leftOut: 2 })).toBe(
    `<previous-summary>\nOld.\n</previous-summary>\n\n[2 earlier pieces are left out.]\n\n${plain}`,
  );
  const working = writerPrompt({ ...said, previous: "", leftOut: 0, requests: ["Do it.", "All."] });
  expect(working).toMatch(/^<request>\nDo it\.\n\nAll\.\n<\/request>\n\n.* do not repeat it\.\n\n/);
  expect(working.endsWith(plain)).toBe(true);
});

describe("a summary", () => {
  it("has the words, the facts and the requests, and gives the words back alone", () => {
    const whole = summaryText(" ## Goal\nAll. ", "Tools called: read (1).", ["Go.", "And?"]);
    expect(whole).toMatch(/^\[The conversation up to here .*\]\n\n## Goal\nAll\.\n\n\[Known from/);
    expect(whole).toContain("[Known from the record:]\nTools called: read (1).\n\n[The request");
    expect(whole.endsWith("word by word:]\n\nGo.\n\nAnd?")).toBe(true);
    const bare = summaryText("Words.", "", []);
    expect(bare).not.toContain("[Known");
    expect(bare).not.toContain("[The request");
    for (const facts of ["", "Tools called: read (1)."])
      for (const requests of [[], ["Go."]])
        expect(writtenText(summaryText("Words.", facts, requests))).toBe("Words.");
  });

  it("that another strategy wrote is given back as it is", () => {
    const other = "[3 messages are not shown.]\n\n[Known from the record:]\nA.";
    expect(writtenText(other)).toBe(other);
  });

  it("whose words quote its own marks ends at the last ones", () => {
    const quoting = "Said:\n\n[Known from the record:] nothing.";
    expect(writtenText(summaryText(quoting, "Facts.", ["Go."]))).toBe(quoting);
  });
});

describe("a reply", () => {
  const reply = (text: string) => ({ text, finishReason: "stop", calledTools: false }) as const;
  const section = (heading: string, body = "none"): string => `## ${heading}\n${body}`;
  const whole = HEADINGS.map((heading) => section(heading)).join("\n\n");
  const problem = (text: string): string | undefined => replyProblem(reply(text), 10, 100);

  it("is complete with a line below each heading, in their order", () => {
    expect(problem(whole)).toBeUndefined();
    for (const heading of HEADINGS) {
      expect(problem(whole.replace(section(heading), section(heading, " ")))).toBe("incomplete");
      expect(problem(whole.replace(section(heading), "none"))).toBe("incomplete");
    }
    expect(
      problem(
        HEADINGS.toReversed()
          .map((one) => section(one))
          .join("\n\n"),
      ),
    ).toBe("incomplete");
  });

  it("may say as little as one letter", () => {
    expect(problem(whole.replace(/none$/, "x"))).toBeUndefined();
    expect(problem(whole.replace("none", "x"))).toBeUndefined();
  });

  it("repeats itself if fewer than half of its longer lines differ, of twelve or more", () => {
    const lines = (different: number, all: number, line = "a longer line"): string =>
      `${whole}\n${Array.from({ length: all }, (_, index) => `${line} ${index % different}`).join("\n")}`;
    // The headings are six of eight longer lines already.
    const longer = whole.split("\n").filter((line) => line.trim().length > 8).length;
    expect(problem(lines(1, 12 - longer - 1))).toBeUndefined();
    const one = (all: number): string | undefined => problem(lines(1, all));
    const most = 2 * (longer + 1) - longer;
    expect(one(most)).toBeUndefined();
    expect(one(most + 1)).toBe("repeating");
    expect(problem(lines(1, 40, "short"))).toBeUndefined();
  });
});

describe("what is known without a model", () => {
  const called = (...calls: readonly (readonly [string, object, boolean?])[]): string => {
    const session = new Session();
    session.ask("Go.");
    session.start();
    for (const [index, [toolName, input]] of calls.entries())
      session.record({
        type: "part.tool-call",
        data: { toolCallId: `c${index}`, toolName, input: input as never },
      });
    session.finish({}, "tool-calls");
    for (const [index, [, , fails = false]] of calls.entries())
      if (fails) session.failed(`c${index}`);
    session.end();
    return knownFacts(session.history.items);
  };

  it("are the tools with the numbers of their calls, and of those that failed", () => {
    expect(called()).toBe("");
    expect(called(["read", {}], ["write", {}], ["read", {}, true])).toBe(
      "Tools called: read (2, 1 failed), write (1).",
    );
  });

  it("are the names in their inputs, the newest first, each once, and the number of others", () => {
    expect(called(["read", { path: "a" }], ["read", { path: "b" }], ["read", { path: "a" }])).toBe(
      "Tools called: read (3).\nNamed in calls: `a`, `b`.",
    );
    const many = Array.from({ length: 42 }, (_, index) => ["read", { path: `p${index}` }] as const);
    expect(called(...many)).toMatch(/^Named in calls: `p41`, .*, `p2` and 2 more\.$/m);
    expect(called(...many.slice(0, 40))).toMatch(/`p0`\.$/);
  });

  it("are texts under keys that name something, not long ones and no others", () => {
    const named = (input: unknown): string =>
      called(["read", input as object]).match(/Named in calls: (.*)\./)?.[1] ?? "";
    expect(named({ path: "a", user_id: "b", orderId: "c", url: "d" })).toBe("`a`, `b`, `c`, `d`");
    expect(named({ text: "a", path: 5, file: "", folder: null })).toBe("");
    expect(named({ path: "x".repeat(200) })).toBe(`\`${"x".repeat(200)}\``);
    expect(named({ path: "x".repeat(201) })).toBe("");
    expect(named("path")).toBe("");
    expect(named(["path"])).toBe("");
    expect(named(null)).toBe("");
  });
});
