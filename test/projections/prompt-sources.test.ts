/** What is known of a prompt beside its messages: where each comes from, what is new in it, what it leaves out. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import {
  CUT_OFF_NOTE,
  hasUnanswered,
  isPromptTrimmed,
  messagesSince,
  modelOf,
  promptEntries,
  promptMessages,
} from "../../src/projections/index.ts";
import { plainEntries } from "../../src/projections/prompt.ts";
import { gpt, Session } from "../context/session.ts";
import { asked, said, spent, stateOf, stepFinished, stepStarted, turnEnded } from "./session-of.ts";

const late: EventBody = {
  type: "turn.limit-reached",
  data: { turn: 1, limit: "time", lastStep: true },
};
const interrupted: EventBody = {
  type: "step.interrupted",
  data: { step: 1, reason: "cancelled", usage: spent },
};

function compacted(from: number, to: number, summary: string): EventBody {
  const data = { strategy: "s", covers: { from, to }, summary, beforeTokens: 9, afterTokens: 1 };
  return { type: "context.compacted", data };
}

it("each message has its source and its place", () => {
  const { history, view } = stateOf(
    ...asked("Go."),
    stepStarted(1),
    ...said("Half"),
    interrupted,
    late,
    stepStarted(2),
    ...said("Whole."),
    stepFinished(2),
    turnEnded(),
    ...asked("And?", 2),
    compacted(1, 3, "They talked."),
  );
  const entries = plainEntries(history, view);
  expect(entries.map(({ message, origin, place }) => [message.content, origin, place])).toEqual([
    ["They talked.", { kind: "summary", position: 19 }, [1, 0]],
    [[{ type: "text", text: "Half" }], { kind: "step", position: 4, role: "assistant" }, [4, 0]],
    [
      "[The time for this turn is up. Conclude now, in this reply: tools are not run any more.]",
      { kind: "note", position: 9 },
      [9, 0],
    ],
    [
      [{ type: "text", text: "Whole." }],
      { kind: "step", position: 10, role: "assistant" },
      [10, 0],
    ],
    ["And?", { kind: "user", position: 18, id: "m2" }, [18, 0]],
  ]);
  expect(promptEntries(history, view)).toEqual(entries);
});

it("the note after a reply that was cut off comes from that reply, behind the results of its calls", () => {
  const goesOn = [stepStarted(2), ...said("on"), stepFinished(2)];
  const cut = [...asked("Go."), stepStarted(1), ...said("Go"), interrupted];
  for (const { history, view } of [stateOf(...cut), stateOf(...cut, ...goesOn)]) {
    const note = plainEntries(history, view)[2];
    expect(note).toMatchObject({
      message: { role: "user", content: CUT_OFF_NOTE },
      origin: { kind: "cut-off-note", position: 4 },
      place: [4, 2],
    });
  }
});

it("a summary of less than a summary before it has no place before that", () => {
  const { history, view } = stateOf(
    ...asked("A"),
    ...asked("B", 2),
    ...asked("C", 3),
    compacted(1, 9, "Outer."),
    compacted(2, 4, "Inner."),
  );
  expect(plainEntries(history, view).map(({ place, message }) => [message.content, place])).toEqual(
    [
      ["Inner.", [2, 0]],
      ["Outer.", [2, 0]],
    ],
  );
});

it("what came after a step are its results and all later messages", () => {
  const session = new Session();
  session.ask("Go.");
  session.work("one");
  session.work("two");
  session.steer("And this.");
  const { history, view } = session;
  const prompt = promptMessages(history, view);
  const positions = [...history.items, history.open].flatMap((item) =>
    item?.kind === "step" ? [item.position] : [],
  );
  const [first = 0, second = 0] = positions;
  expect(messagesSince(history, view, first)).toEqual(prompt.slice(2));
  expect(messagesSince(history, view, second)).toEqual(prompt.slice(4));
  expect(messagesSince(history, view, second + 1)).toEqual(prompt.slice(5));
  expect(messagesSince(history, view, 0)).toEqual(prompt);
  const covered = session;
  covered.record(compacted(1, first, "So far."));
  expect(messagesSince(covered.history, covered.view, second)).toEqual(prompt.slice(4));
});

it("a prompt is trimmed if a shown step has lost its reasoning", () => {
  const dropped = (...more: readonly EventBody[]): boolean => {
    const { history, view } = stateOf(
      ...asked("Go."),
      stepStarted(1),
      { type: "part.reasoning-start", data: { id: "r", dropped: true } },
      { type: "part.reasoning-end", data: { id: "r", dropped: true } },
      ...said("So."),
      stepFinished(1),
      ...more,
    );
    return isPromptTrimmed(history, view);
  };
  expect(dropped()).toBe(true);
  expect(dropped(turnEnded(), ...asked("And?", 2))).toBe(true);
  expect(dropped(turnEnded(), compacted(1, 10, "So far."))).toBe(false);
  const { history, view } = stateOf(...asked("Go."), stepStarted(1), ...said("So."));
  expect(isPromptTrimmed(history, view)).toBe(false);
});

it("a prompt has unanswered calls of the provider once a message follows them", () => {
  const session = new Session();
  const has = (): boolean => hasUnanswered(session.history, session.view);
  session.ask("Search.");
  session.start();
  session.ownCall("one");
  session.finish();
  session.end();
  expect(has()).toBe(false);
  session.ask("And?");
  expect(has()).toBe(true);
});

it("the model of a message is that of its step", () => {
  const session = new Session();
  session.ask("Go.");
  session.work("one");
  const [request, reply, result] = promptMessages(session.history, session.view).map(modelOf);
  expect([request, reply, result]).toEqual([undefined, gpt, gpt]);
});

it("a prompt is made anew for each change of a view, and not for each reading", () => {
  const session = new Session();
  session.ask("Go.");
  session.work("one");
  const prepare = (content: string): void => {
    const added = [
      { after: { place: [9999, 0] as const }, message: { role: "user", content } as const },
    ];
    session.record({ type: "step.prepared", data: { turn: 1, step: 2, messages: { added } } });
  };
  prepare("A");
  const { history, view } = session;
  const entries = promptEntries(history, view);
  expect(promptEntries(history, view)).toBe(entries);
  prepare("B");
  const last = promptMessages(session.history, session.view);
  expect(last.slice(-2).map(({ content }) => content)).toEqual(["B", "A"]);
});

it("texts of a file lose its name, and a message of a text alone stays a text", () => {
  const content = [
    { type: "text", text: "Notes.", filename: "notes.txt" },
    { type: "file", data: "AA==", mediaType: "image/png", filename: "a.png" },
  ] as const;
  const [, ...delivered] = asked("");
  const queued: EventBody = {
    type: "message.queued",
    data: { id: "m1", content, delivery: "follow-up" },
  };
  const { history, view } = stateOf(queued, ...delivered);
  expect(promptMessages(history, view)[0]?.content).toStrictEqual([
    { type: "text", text: "Notes." },
    content[1],
  ]);
  const empty = stateOf(...asked(""));
  expect(promptMessages(empty.history, empty.view)).toEqual([]);
});
