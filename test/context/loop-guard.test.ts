/** A turn goes in circles when its newest steps are alike, as many as the limit says: no other ones count. */

import { expect, it } from "vitest";
import { isLooping } from "../../src/context/loop-guard.ts";
import { Session } from "./session.ts";

const limits = { calls: 3, texts: 3 };

/** A turn whose steps say these words. */
function saying(...texts: readonly string[]): Session {
  const session = new Session();
  session.ask("Go.");
  for (const text of texts) speak(session, text);
  return session;
}

function speak(session: Session, text: string): void {
  session.start();
  if (text !== "") session.say(text);
  session.finish();
}

function calling(session: Session, ...names: readonly string[]): void {
  session.start();
  for (const [index, name] of names.entries()) session.call(`${session.step}-${index}`, name);
  session.finish({}, "tool-calls");
}

it("goes in circles from the step on that makes as many of one kind, and not before", () => {
  expect(isLooping(saying("a", "a").history, limits)).toBe(false);
  expect(isLooping(saying("a", "a", "a").history, limits)).toBe(true);
  expect(isLooping(saying("b", "a", "a", "a").history, limits)).toBe(true);
  expect(isLooping(saying("a", "a", "a", "b").history, limits)).toBe(false);
  expect(isLooping(saying("a", "b", "a", "a").history, limits)).toBe(false);
  expect(isLooping(saying("a", "a", "b", "a").history, limits)).toBe(false);
});

it("goes in circles no less where no step is open", () => {
  expect(isLooping(new Session().history, limits)).toBe(false);
  const session = saying("a", "a", "a");
  session.steer("And now?");
  expect(isLooping(session.history, limits)).toBe(true);
});

it("goes in circles by each limit for itself", () => {
  const three = saying("a", "a", "a").history;
  expect(isLooping(three, { calls: 1, texts: 4 })).toBe(false);
  expect(isLooping(three, { calls: 9, texts: 3 })).toBe(true);
  const session = saying();
  for (let step = 0; step < 3; step++) calling(session, "read");
  expect(isLooping(session.history, { calls: 3, texts: 1 })).toBe(true);
  expect(isLooping(session.history, { calls: 4, texts: 9 })).toBe(false);
});

it("does not where steps say nothing, or call other tools, or one tool more", () => {
  expect(isLooping(saying("", "", "").history, limits)).toBe(false);
  for (const last of [["write"], ["read", "read"]]) {
    const session = saying();
    for (const names of [["read"], ["read"], last]) calling(session, ...names);
    expect(isLooping(session.history, limits)).toBe(false);
  }
});

it("does not where a tool is called with something else each time", () => {
  const session = saying();
  for (const path of ["a", "b", "c"]) {
    session.start();
    session.call(path, "read", path);
    session.finish({}, "tool-calls");
  }
  expect(isLooping(session.history, limits)).toBe(false);
});

it("counts the steps of the turn that runs, whatever was said in those before it", () => {
  const session = saying("a", "a", "a");
  session.end();
  session.ask("Again.");
  speak(session, "a");
  speak(session, "a");
  expect(isLooping(session.history, limits)).toBe(false);
  speak(session, "a");
  expect(isLooping(session.history, limits)).toBe(true);
});

it("counts what is said beside messages that come meanwhile, and no step that was broken off", () => {
  const session = saying("a", "a");
  session.steer("And now?");
  session.start();
  session.say("a");
  const usage = { basis: "estimated", inputTokens: 1, outputTokens: 1 } as const;
  const { step } = session;
  session.record({ type: "step.interrupted", data: { step, reason: "recovered", usage } });
  expect(isLooping(session.history, limits)).toBe(false);
  speak(session, "a");
  expect(isLooping(session.history, limits)).toBe(true);
});
