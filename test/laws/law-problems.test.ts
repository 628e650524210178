/** The checks that other tests rely on find what is wrong: each law, broken on purpose in a recording. */

import { describe, expect, it } from "vitest";
import type { EventBody, EventType, SessionEvent } from "../../src/events/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { readFixture, type FixtureName } from "./session-fixture.ts";

type Change = (events: readonly SessionEvent[]) => readonly EventBody[];

/** Leaves out the first event of a type. */
function without(type: EventType): Change {
  return (events) => {
    const index = events.findIndex((event) => event.type === type);
    if (index === -1) throw new Error(`The recording has no ${type}.`);
    return events.toSpliced(index, 1);
  };
}

/** Says the last event of a type once more. */
function twice(type: EventType): Change {
  return (events) => {
    const index = events.findLastIndex((event) => event.type === type);
    return events.flatMap((event, at) => (at === index ? [event, event] : [event]));
  };
}

/** Starts the last tool that was started once more, as a process does that recovers. */
function restarted(more: { readonly attempt?: number; readonly effectId?: string }): Change {
  return (events) => {
    const start = events.findLast((event) => event.type === "tool.started");
    if (start?.type !== "tool.started") throw new Error("The recording has no tool.started.");
    const recovered: EventBody = {
      type: "session.recovered",
      data: { policy: "continue", inFlight: { kind: "nothing" } },
    };
    const again: EventBody = { ...start, data: { ...start.data, attempt: 2, ...more } };
    return [...events.slice(0, start.position), recovered, again, ...events.slice(start.position)];
  };
}

/** Starts the last tool that was started once more, counted as another attempt, though nobody died. */
const startedAgain: Change = (events) =>
  restarted({})(events).filter(({ type }) => type !== "session.recovered");

/** Numbers the attempts of a step in another way: of all but the first, so many later. */
function attemptsLater(by: number): Change {
  return (events) =>
    events.map((event) =>
      event.type === "step.started" && event.data.attempt > 1
        ? { ...event, data: { ...event.data, attempt: event.data.attempt + by } }
        : event,
    );
}

/** Has the first message say something else. */
function reworded(events: readonly SessionEvent[]): readonly EventBody[] {
  const first = events.find((event) => event.type === "message.queued");
  return events.map((event) =>
    event === first && event.type === "message.queued"
      ? { ...event, data: { ...event.data, content: "Another." } }
      : event,
  );
}

async function problemsOf(name: FixtureName, change: Change): Promise<string> {
  const bodies = change(await readFixture(name));
  const events = bodies.map((body, index) => ({ ...body, position: index + 1, time: index + 1 }));
  return lawProblems(events).join("\n");
}

describe("a log in which", () => {
  it.each<[string, FixtureName, Change, string]>([
    ["a tool's result is missing", "long-talk", without("tool.succeeded"), "has no end"],
    ["a call ends twice", "tools", twice("tool.denied"), "ends 2 times"],
    [
      "a tool is started twice",
      "long-talk",
      twice("tool.started"),
      "is started again although no process died",
    ],
    [
      "a tool is started twice, as another attempt",
      "long-talk",
      startedAgain,
      "is started again although no process died",
    ],
    ["an attempt is left out", "long-talk", restarted({ attempt: 3 }), "is started as attempt 3"],
    [
      "an attempt has another effect",
      "long-talk",
      restarted({ effectId: "another" }),
      "changes its effect id",
    ],
    ["a tool was never started", "long-talk", without("tool.started"), "was never started"],
    [
      "a message is delivered twice",
      "tools",
      twice("message.delivered"),
      "is delivered, and was delivered",
    ],
    ["a message is accepted twice", "tools", twice("message.queued"), "is accepted twice"],
    ["a message was never accepted", "tools", without("message.queued"), "was never accepted"],
    ["a turn does not end", "long-talk", without("turn.ended"), "has not ended"],
    ["a turn ends twice", "tools", twice("turn.ended"), "it had not begun"],
    ["an attempt at a step is left out", "retries", attemptsLater(1), "attempt 3 after 1"],
    ["an attempt at a step is counted twice", "retries", attemptsLater(-1), "after step"],
    ["a step ends twice", "tools", twice("step.finished"), "it had ended"],
    ["a step's end is missing", "tools", without("step.finished"), "has not ended"],
    ["a prompt is not the one that was sent", "tools", reworded, "cannot be rebuilt"],
    [
      "a part comes outside of a step",
      "tools",
      (events) => [...events, { type: "part.text-start", data: { id: "t" } }],
      "no step is running",
    ],
  ])("%s is found out", async (_, name, change, words) => {
    const problems = await problemsOf(name, change);
    expect(problems).toContain(words);
  });

  it("nothing was changed, or nothing but a second attempt, has no problems", async () => {
    expect(await problemsOf("tools", (events) => events)).toBe("");
    expect(await problemsOf("long-talk", restarted({}))).toBe("");
  });
});
