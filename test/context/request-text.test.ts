/** The requests of users that a summary repeats: whole where there is room, cut where there is none. */

import { describe, expect, it } from "vitest";
import type { PlanBudget } from "../../src/context/compaction/compaction-strategy.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import {
  originalRequests,
  requestText,
  requestTexts,
  textWithin,
} from "../../src/context/compaction/request-text.ts";
import type { UserItem } from "../../src/projections/index.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import { gpt, Session } from "./session.ts";

const budget: PlanBudget = { meter: meter(lengthEstimator, gpt), factor: 1 };

function request(turn: number, content: UserItem["content"]): UserItem {
  return { kind: "user", id: `m${turn}`, content, position: turn, time: 0, turn };
}

it("the text of a request names its files, by name or by type", () => {
  const file = { type: "file", data: "AA==", mediaType: "image/png" } as const;
  expect(requestText(request(1, "Go."))).toBe("Go.");
  expect(
    requestText(request(1, [{ type: "text", text: "See." }, file, { ...file, filename: "a.png" }])),
  ).toBe("See.\n[file: image/png]\n[file: a.png]");
});

describe("a text within some tokens", () => {
  const text = "0123456789".repeat(40);

  it("is whole if it has no more, by the model's factor", () => {
    expect(textWithin(text, 100, budget)).toBe(text);
    expect(textWithin(text, 99, budget)).not.toBe(text);
    expect(textWithin(text, 199, { ...budget, factor: 2 })).not.toBe(text);
    expect(textWithin(text, 200, { ...budget, factor: 2 })).toBe(text);
  });

  it("has three quarters of its beginning and a quarter of its end", () => {
    expect(textWithin(text, 10, budget)).toBe(
      `${text.slice(0, 30)}\n[360 of 400 characters left out here.]\n${text.slice(-10)}`,
    );
    expect(textWithin(text, 10, { ...budget, factor: 2 })).toContain("[380 of 400");
    expect(textWithin(text, 2.6, budget)).toBe(
      `0123456\n[390 of 400 characters left out here.]\n789`,
    );
  });
});

/** The texts, in the order of the requests. */
function textsOf(...given: Parameters<typeof requestTexts>): readonly string[] {
  return [...requestTexts(...given).values()];
}

describe("the requests of a summary", () => {
  const long = "x".repeat(400);
  const requests = [request(1, long), request(2, long), request(3, long)];

  it("are whole if those of earlier turns take no more than three fifths of the window", () => {
    const whole = [long, long, long];
    // Two requests of a hundred tokens each, and what is between them.
    expect(textsOf(requests, 3, { ...budget, windowTokens: 336 })).toEqual(whole);
    expect(textsOf(requests, 3, budget)).toEqual(whole);
    expect(textsOf(requests, 3, undefined)).toEqual(whole);
    expect(textsOf(requests.slice(2), 3, { ...budget, windowTokens: 1 })).toEqual([long]);
  });

  it("share a quarter of the window else, but for that of the running turn", () => {
    const [first, second, third] = textsOf(requests, 3, { ...budget, windowTokens: 320 });
    // 40 tokens each: 80, by two requests.
    expect(first).toContain("[240 of 400 characters left out here.]");
    expect(second).toBe(first);
    expect(third).toBe(long);
    const factor = { ...budget, factor: 2, windowTokens: 336 };
    expect(textsOf(requests, 3, factor)[0]).toContain("left out");
  });

  it("have no short ones of earlier turns but the newest, in an eighth of the window", () => {
    // Two tokens each, as every language is measured alike.
    const word = (turn: number): UserItem => request(turn, `Yes${turn % 10}.`);
    const words = Array.from({ length: 400 }, (_, turn) => word(turn + 1));
    const kept = (windowTokens: number): readonly number[] =>
      [...requestTexts(words, 400, { ...budget, windowTokens }).keys()].map(({ turn }) => turn);
    const few = kept(80);
    expect(few.at(-1)).toBe(400);
    expect(few.length).toBeGreaterThan(1);
    expect(few.length).toBeLessThan(11);
    expect(few).toEqual(words.slice(-few.length).map(({ turn }) => turn));
    // Never more than 500 tokens of them.
    expect(kept(1_000_000).length).toBe(requestTexts(words, 400, undefined).size);
    expect(kept(1_000_000).length).toBeLessThan(400);
    expect(textsOf([request(1, long), ...words], 400, { ...budget, windowTokens: 400 })[0]).toBe(
      long,
    );
  });

  it("are left out, the oldest ones, where each would have less than forty tokens", () => {
    const many = Array.from({ length: 9 }, (_, turn) => request(turn + 1, `${long}${turn + 1}`));
    const texts = requestTexts(many, 9, { ...budget, windowTokens: 600 });
    expect([...texts.keys()].map(({ turn }) => turn)).toEqual([6, 7, 8, 9]);
  });
});

describe("requests", () => {
  it("at the beginning are those that were delivered together first", () => {
    const session = new Session();
    expect(originalRequests(session.history.items)).toEqual([]);
    session.ask("One.", "Two.");
    expect(originalRequests(session.history.items).map(({ content }) => content)).toEqual([
      "One.",
      "Two.",
    ]);
    session.steer("Three.");
    session.work("found");
    session.end();
    session.ask("Four.");
    expect(originalRequests(session.history.items).map(({ content }) => content)).toEqual([
      "One.",
      "Two.",
    ]);
    const resumed = new Session();
    resumed.end();
    resumed.ask("Later.");
    expect(originalRequests(resumed.history.items).map(({ content }) => content)).toEqual([
      "Later.",
    ]);
  });
});
