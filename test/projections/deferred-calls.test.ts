/** The calls of a provider whose results come in a later step: the turn continues while one waits. */

import { expect, it } from "vitest";
import { deferredCalls, outputOf } from "../../src/projections/index.ts";
import { Session } from "../context/session.ts";

const waiting = ({ history, view }: Session, isDeferring = true): readonly string[] =>
  deferredCalls(history, view, (toolName) => isDeferring && toolName === "search");

function asked(): Session {
  const session = new Session();
  session.ask("Search.");
  return session;
}

it("are those of the open step and of earlier ones that have no result yet", () => {
  const session = asked();
  expect(waiting(session)).toEqual([]);
  session.start();
  session.say("I look.");
  session.ownCall("one");
  session.ownCall("two");
  expect(waiting(session)).toEqual(["one", "two"]);
  session.ownResult("one");
  expect(waiting(session)).toEqual(["two"]);
  session.finish();
  session.start();
  expect(waiting(session)).toEqual(["two"]);
  session.ownResult("two");
  expect(waiting(session)).toEqual([]);
});

it("are only calls of the provider, to tools that may answer later", () => {
  const session = asked();
  session.start();
  session.call("ours", "search");
  expect(waiting(session)).toEqual([]);
  session.ownCall("theirs");
  expect(waiting(session)).toEqual(["theirs"]);
  expect(waiting(session, false)).toEqual([]);
});

it("are none once the provider has said nothing three times in a row", () => {
  const session = asked();
  session.start();
  session.ownCall("one");
  session.finish();
  const seen: (readonly string[])[] = [];
  for (let reply = 0; reply < 4; reply++) {
    session.start();
    seen.push(waiting(session));
    session.finish();
  }
  expect(seen).toEqual([["one"], ["one"], [], []]);
  session.start();
  session.ownCall("two");
  expect(waiting(session)).toEqual(["two"]);
});

it("are asked about once the step has finished: nothing waits between steps", () => {
  const session = asked();
  session.start();
  session.ownCall("one");
  session.finish();
  session.end();
  expect(waiting(session)).toEqual([]);
});

it("are none that the next prompt leaves out", () => {
  const session = asked();
  session.start();
  session.ownCall("one");
  session.call("ours");
  session.finish({}, "tool-calls");
  session.answer("ours", "done");
  session.steer("Also this.");
  session.start();
  session.say("Well.");
  expect(waiting(session)).toEqual([]);
});

it("leave a step with effects whose outcome only the provider knows, until their results come", () => {
  const session = asked();
  session.start();
  const { step } = session;
  expect(outputOf(session.history, step)).toBe("nothing");
  session.say("I look.");
  expect(outputOf(session.history, step)).toBe("words");
  session.ownCall("one");
  expect(outputOf(session.history, step)).toBe("effects");
  session.ownResult("one");
  expect(outputOf(session.history, step)).toBe("words");
});
