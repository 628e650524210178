/** The texts of a prompt: each stored once, and a text that is like another as what differs. */

import { expect, it } from "vitest";
import { REDACTED } from "../../src/events/index.ts";
import {
  standingText,
  textDigest,
  textEvent,
  type StandingState,
} from "../../src/projections/standing.ts";
import { turnInstructions } from "../../src/projections/sent-prompt.ts";
import { stateOf } from "./session-of.ts";

const empty: StandingState = { texts: {} };

function stored(...texts: readonly string[]): StandingState {
  return texts.reduce((state, text) => {
    const event = textEvent(state, text);
    return event === undefined ? state : stateOf(...eventsOf(state), event).standing;
  }, empty);
}

function eventsOf({ texts }: StandingState) {
  return Object.entries(texts).map(
    ([digest, text]) => ({ type: "prompt.text", data: { digest, ...text } }) as const,
  );
}

const long = "You are a careful clerk. Answer in one sentence. Today is Monday.";
const like = long.replace("Monday", "Friday");

it("a text is stored once, and one that is like it as what differs", () => {
  const state = stored(long, like, long);
  expect(Object.keys(state.texts)).toEqual([textDigest(long), textDigest(like)]);
  expect(state.texts[textDigest(like)]?.text).toBe("Fri");
  for (const text of [long, like, ""]) expect(standingText(state, textDigest(text))).toBe(text);
  expect(standingText(state, textDigest("other"))).toBeUndefined();
  expect(textEvent(state, "")).toBeUndefined();
});

it("a text is redacted when it is itself, or the text that it is like", () => {
  const { texts } = stored(long, like);
  const without = (one: string): StandingState => {
    const digest = textDigest(one);
    const text = texts[digest];
    return text === undefined
      ? empty
      : { texts: { ...texts, [digest]: { ...text, text: REDACTED } } };
  };
  expect(standingText(without(long), textDigest(like))).toBe(REDACTED);
  expect(standingText(without(like), textDigest(like))).toBe(REDACTED);
  expect(standingText(without(like), textDigest(long))).toBe(long);
});

it("the instructions of a turn are their text, and those of the agent once it was redacted", () => {
  const { view } = stateOf();
  const given = { ...view, instructionsDigest: textDigest(long) };
  const standing = stored(long);
  expect(turnInstructions({ view, standing })).toBeUndefined();
  expect(turnInstructions({ view: given, standing })).toBe(long);
  const redacted: StandingState = { texts: { [textDigest(long)]: { text: REDACTED } } };
  expect(turnInstructions({ view: given, standing: redacted })).toBeUndefined();
  expect(turnInstructions({ view: { ...given, instructions: "Own." }, standing })).toBe("Own.");
});
