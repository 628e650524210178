/** What a summariser is shown, and which of its replies is taken for a summary (law 8). */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { summarize } from "../../src/context/compaction/summarize.ts";
import type {
  PlanBudget,
  SummaryReply,
  SummaryRequest,
} from "../../src/context/compaction/compaction-strategy.ts";
import type { SummaryRung } from "../../src/events/index.ts";
import { HEADINGS, replyProblem } from "../../src/context/compaction/summary-form.ts";
import { summaryOf } from "../support/summarisers.ts";
import { cuttable, tokensFrom } from "../../src/context/compaction/shown-units.ts";
import { textTokens } from "../../src/context/estimate/text-tokens.ts";
import { gpt, Session } from "./session.ts";
import { runs } from "../support/runs.ts";

const budget: PlanBudget = {
  meter: meter(defaultEstimator, gpt),
  factor: 1,
  messageTokens: 6000,
};
const data = "iVBORw0KGgo".repeat(400);

/** Three turns, of which the last one works on a long request. */
function worked(): Session {
  const session = new Session();
  for (const turn of [1, 2, 3]) {
    const more = turn === 3 ? " And after everything that belongs to it.".repeat(4) : "";
    session.ask(`Request ${turn}: look after FACT-${turn}.${more}`);
    session.work(`result ${turn} `.repeat(800), data);
    session.work(`more of ${turn} `.repeat(800));
    if (turn === 3) break;
    session.start();
    session.say(`Done with ${turn}.`);
    session.finish();
    session.end();
  }
  return session;
}

function request(
  { history, view }: Session,
  rung: SummaryRung = "whole",
  room?: number,
): SummaryRequest {
  const made = summarize({ keepTokens: 1200 }).writer?.request(rung, history, view, budget, room);
  if (made === undefined) throw new Error("There is nothing to summarise.");
  return made;
}

const reply = (text: string, more: Partial<SummaryReply> = {}): SummaryReply => ({
  text,
  finishReason: "stop",
  calledTools: false,
  ...more,
});

function accepted(session: Session, text: string): string {
  const read = request(session).read(reply(text));
  if ("problem" in read) throw new Error(`It was refused as ${read.problem}.`);
  return read.summary;
}

describe("what a summariser is shown", () => {
  it("is what is to be covered as text, without media, and the headings that it is to write", () => {
    const { prompt, instructions } = request(worked());
    for (const text of ["USER: Request 1", "CALL of read", "result 1 result 1", "Done with 2."]) {
      expect(prompt).toContain(text);
    }
    expect(prompt).not.toContain("iVBORw0KGgo");
    expect(prompt).toContain("characters of data]");
    for (const heading of HEADINGS) expect(instructions).toContain(`## ${heading}`);
  });

  it("becomes less from rung to rung, and fits into half of the room at last", () => {
    const session = worked();
    const [whole, capped, newest] = (["whole", "capped", "newest"] as const).map((rung) =>
      request(session, rung, 2000),
    );
    expect(capped?.tokens).toBeLessThan((whole?.tokens ?? 0) / 2);
    expect(newest?.tokens).toBeLessThan(2000);
    expect(newest?.prompt).toContain("earlier pieces are left out");
    expect(
      new Set([whole?.covers, capped?.covers, newest?.covers].map((one) => one?.to)).size,
    ).toBe(1);
  });

  it("has the words of the summary before, and none of what was computed", () => {
    const session = worked();
    const summary = accepted(session, summaryOf(["FACT-1 holds"]));
    session.record({
      type: "context.compacted",
      data: {
        strategy: "summarize",
        covers: request(session).covers,
        summary,
        beforeTokens: 9,
        afterTokens: 1,
      },
    });
    session.start();
    session.say("Done with 3.");
    session.finish();
    session.end();
    session.ask("Request 4.");
    session.work("result 4 ".repeat(1500));
    session.work("result 5 ".repeat(1500));
    const { prompt } = request(session);
    expect(prompt).toContain("FACT-1 holds");
    expect(prompt).toContain("result 4");
    expect(prompt).not.toContain("Tools called");
    expect(prompt).not.toContain("Request 1:");
    // What is known for certain is known of everything, not only of what is new.
    expect(accepted(session, summaryOf([]))).toContain("Tools called: read (");
  });
});

describe("the running request", () => {
  /** A long turn that was summarised before, so that its request is in no message any more. */
  function goingOn(): Session {
    const session = worked();
    const { covers } = request(session);
    const summary = accepted(session, summaryOf([]));
    const data = { strategy: "summarize", covers, summary, beforeTokens: 9, afterTokens: 1 };
    session.record({ type: "context.compacted", data });
    for (const name of ["three", "four"]) session.work(`${name} `.repeat(1500));
    return session;
  }

  it("is told to the summariser of a later summary, and is once below what it writes", () => {
    const session = goingOn();
    expect(request(session).prompt).toMatch(/^<request>\nRequest 3: look after FACT-3\./);
    expect(request(session).prompt).not.toContain("Request 2:");
    const summary = accepted(session, summaryOf(["FACT-3"]));
    expect(summary.split("Request 3: look after")).toHaveLength(2);
  });

  it("is not told twice where the conversation has it", () => {
    expect(request(worked()).prompt).not.toContain("<request>");
  });
});

describe("the sizes of a summary", () => {
  const options = (more: object, messageTokens?: number): SummaryRequest | undefined => {
    const { history, view } = worked();
    const { messageTokens: _, ...open } = budget;
    const given = messageTokens === undefined ? open : { ...open, messageTokens };
    return summarize(more).writer?.request("whole", history, view, given);
  };

  it("are an eighth of the messages' budget, from 400 to 4,000 tokens, unless another is given", () => {
    const most = (messageTokens?: number): number | undefined =>
      options({ keepTokens: 0 }, messageTokens)?.maxTokens;
    expect([800, 3200, 3208, 6007, 32_000, 90_000, undefined].map(most)).toEqual([
      400, 400, 401, 750, 4000, 4000, 4000,
    ]);
    expect(options({ keepTokens: 0, maxTokens: 7 })?.maxTokens).toBe(7);
  });

  it("leave a quarter of the budget of newest messages, 20,000 without one, and half of a short prompt", () => {
    const { history, view } = worked();
    const whole = tokensFrom(cuttable(history, view, budget), 0);
    const covered = (made: SummaryRequest | undefined): number | undefined => made?.covers.to;
    expect(covered(options({}, 6000))).toBe(covered(options({ keepTokens: 1500 })));
    expect(covered(options({}))).toBe(covered(options({ keepTokens: whole / 2 })));
    expect(covered(options({ keepTokens: whole }))).toBe(
      covered(options({ keepTokens: whole / 2 })),
    );
    const session = new Session();
    for (let turn = 0; turn < 60; turn++) {
      session.ask("word ".repeat(1000));
      session.end();
    }
    const of = (keepTokens?: number): number | undefined =>
      summarize(keepTokens === undefined ? {} : { keepTokens }).plan(
        session.history,
        session.view,
        undefined,
      )?.covers.to;
    expect(of()).toBe(of(20_000));
    expect(of()).not.toBe(of(18_000));
  });

  it("count instructions and prompt, and nothing is asked where nothing can be covered", () => {
    const made = options({ keepTokens: 0 });
    const { instructions = "", prompt = "" } = made ?? {};
    expect(made?.tokens).toBe(Math.ceil(textTokens(instructions) + textTokens(prompt)));
    const session = new Session();
    session.ask("Go.");
    const { history, view } = session;
    const { writer } = summarize();
    expect(writer?.request("whole", history, view, budget)).toBeUndefined();
  });

  it.each([5, null, true])("are not asked of %s, which is no model", (model) => {
    expect(() => summarize({ model } as never)).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT" }),
    );
  });

  it("are asked of the model that was given, or of the agent's", () => {
    const model = { specificationVersion: "v4" } as never;
    expect(summarize({ model }).writer?.model).toBe(model);
    expect(summarize({ model: "acme/small" }).writer?.model).toBe("acme/small");
    expect(summarize().writer).not.toHaveProperty("model");
  });
});

describe("the newest part alone", () => {
  it("has as many pieces as take half of the tokens, without a limit half of them all", () => {
    const session = new Session();
    for (let turn = 0; turn < 8; turn++) {
      session.ask("x".repeat(1000).replaceAll("xx", "x "));
      session.end();
    }
    session.ask("And now?");
    const { history, view } = session;
    const left = (mostTokens?: number): number => {
      const made = summarize({ keepTokens: 0 }).writer;
      const prompt = made?.request("newest", history, view, budget, mostTokens)?.prompt ?? "";
      return Number(/\[(\d+) earlier pieces/.exec(prompt)?.[1] ?? 0);
    };
    const all = summarize({ keepTokens: 0 }).writer?.request("whole", history, view, budget);
    expect(all?.prompt.match(/USER: /g)).toHaveLength(8);
    expect(left()).toBe(4);
    const piece = textTokens(`USER: ${"x ".repeat(500)}`);
    expect([4, 5, 100].map((pieces) => left(pieces * piece + 2))).toEqual([6, 6, 0]);
    expect(left(piece)).toBe(8);
  });
});

describe("a reply", () => {
  it("becomes a summary with what the log knows for certain and the request that is worked on", () => {
    const summary = accepted(worked(), summaryOf(["FACT-1"]));
    expect(summary).toContain("## Next step");
    expect(summary).toContain("Named in calls: `a`");
    expect(summary).toContain("Request 3: look after FACT-3.");
    expect(summary).not.toContain("Request 2: look after");
  });

  it("is refused by what is wrong with it", () => {
    const asked = request(worked());
    const read = (given: SummaryReply): ReturnType<SummaryRequest["read"]> => asked.read(given);
    const good = summaryOf(["FACT-1"]);
    expect(read(reply(good))).toHaveProperty("summary");
    expect(read(reply(" \n"))).toEqual({ problem: "empty" });
    expect(read(reply(good, { finishReason: "length" }))).toEqual({ problem: "cut-off" });
    expect(read(reply(good, { finishReason: "content-filter" }))).toEqual({ problem: "cut-off" });
    expect(read(reply(good, { calledTools: true }))).toEqual({ problem: "called-tools" });
    expect(read(reply(good + "and so on ".repeat(3000)))).toEqual({ problem: "too-long" });
    expect(read(reply(summaryOf(Array<string>(30).fill("the same line"))))).toEqual({
      problem: "repeating",
    });
  });

  it("may be longer than asked by half: an estimate of its tokens may be too high by so much", () => {
    const good = reply(summaryOf(["FACT-1"]));
    expect(replyProblem(good, 150, 100)).toBeUndefined();
    expect(replyProblem(good, 151, 100)).toBe("too-long");
  });

  it("that lacks a heading, has them in another order or leaves one empty is never taken", () => {
    const asked = request(worked());
    const read = (given: SummaryReply): ReturnType<SummaryRequest["read"]> => asked.read(given);
    const sections = fc
      .shuffledSubarray([...HEADINGS], { minLength: 0 })
      .chain((headings) =>
        fc.tuple(
          fc.constant(headings),
          fc.array(fc.constantFrom("", " ", "none", "a line"), { minLength: 6, maxLength: 6 }),
        ),
      );
    fc.assert(
      fc.property(sections, fc.string(), ([headings, bodies], noise) => {
        const text = headings
          .map((heading, index) => `## ${heading}\n${bodies[index] ?? ""}`)
          .join("\n\n");
        const isWhole =
          headings.join() === HEADINGS.join() && bodies.every((body) => body.trim() !== "");
        const answer = read(reply(isWhole ? text : `${noise}\n${text}`));
        expect("summary" in answer).toBe(isWhole);
      }),
      runs(500),
    );
  });
});

describe("the digest that needs no model", () => {
  const digestOf = (session: Session): string =>
    summarize({ keepTokens: 0 }).plan(session.history, session.view, budget)?.summary ?? "";

  it("says under each heading what is known, or that it is not", () => {
    const session = new Session();
    session.ask("Build it.");
    session.start();
    session.say("I begin.");
    session.say(" ");
    session.finish();
    session.end();
    session.ask("And now?");
    expect(digestOf(session)).toContain(
      [
        "## Goal\nBuild it.",
        "## Instructions still in force\nthose of the requests",
        "## Decisions\nnot summarised",
        "## State of the work\nI begin.",
        "## Files and facts\nsee below",
        "## Next step\ngo on with the request",
      ].join("\n\n"),
    );
    const silent = new Session();
    silent.resume(1);
    silent.work("found");
    silent.work("found");
    silent.end();
    silent.ask("And now?");
    expect(digestOf(silent)).toContain("## Goal\nnot known");
    expect(digestOf(silent)).toContain("## State of the work\nnot known");
  });

  it("has long words by their first 1,500 characters", () => {
    const session = new Session();
    session.ask("x".repeat(1500));
    session.start();
    session.say("y".repeat(1501));
    session.finish();
    session.end();
    session.ask("And now?");
    expect(digestOf(session)).toContain(`## Goal\n${"x".repeat(1500)}\n`);
    expect(digestOf(session)).toContain(
      `## State of the work\n${"y".repeat(1500)} [1 characters left out]\n`,
    );
  });

  it("has the requests, the last words and what is known, and keeps the words of a summary before", () => {
    const session = worked();
    const how = summarize({ keepTokens: 1200 });
    const first = how.plan(session.history, session.view, budget);
    expect(first?.summary).toContain("Request 1: look after FACT-1.");
    expect(first?.summary).toContain("Request 3: look after FACT-3.");
    expect(first?.summary).toContain("Done with 2.");
    const summary = accepted(session, summaryOf(["FACT-1 holds"]));
    session.record({
      type: "context.compacted",
      data: {
        strategy: "summarize",
        covers: request(session).covers,
        summary,
        beforeTokens: 9,
        afterTokens: 1,
      },
    });
    session.work("result 4 ".repeat(1500));
    session.work("result 5 ".repeat(1500));
    const next = how.plan(session.history, session.view, budget);
    expect(next?.summary).toContain("FACT-1 holds");
    expect(next?.summary).toContain("Request 3: look after FACT-3.");
  });
});
