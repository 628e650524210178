/** What `prepareStep` changes in the messages of a turn, as a difference that the log can hold. */

import type { ModelMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventBody, MessageChange } from "../../src/events/index.ts";
import {
  isSamePrompt,
  messageChange,
  promptMessages,
  promptProblems,
} from "../../src/projections/index.ts";
import { Session } from "../context/session.ts";
import { runs, times } from "../support/runs.ts";

const reminder: ModelMessage = { role: "user", content: "Remember the rules." };

/** A session with some turns of steps that call a tool. */
function talked(steps: number): Session {
  const session = new Session();
  session.ask("Begin.");
  stepsOf(session, steps);
  return session;
}

function stepsOf(session: Session, steps: number): void {
  for (let count = 0; count < steps; count++) {
    session.start();
    session.say(`Step ${session.step}.`);
    session.call(`c${session.step}`, "out");
    session.finish();
  }
}

function prompt({ history, view }: Session): readonly ModelMessage[] {
  return promptMessages(history, view);
}

/** Records what `prepareStep` returned before the next step. */
function prepare(session: Session, messages: readonly ModelMessage[]): MessageChange {
  const change = messageChange(session.history, session.view, messages);
  const event: EventBody<"step.prepared"> = {
    type: "step.prepared",
    data: { turn: 1, step: session.step + 1, messages: change },
  };
  // What is read from the log is not what was written to it.
  session.record(structuredClone(event));
  return change;
}

type Choice = readonly [kind: "drop" | "add" | "word" | "move" | "twice" | "back", at: number];
const choice: fc.Arbitrary<Choice> = fc.tuple(
  fc.constantFrom("drop", "add", "word", "move", "twice", "back"),
  fc.nat({ max: 30 }),
);

/** The messages after some changes. `all`: those of earlier prompts, which may come back. */
function changed(
  messages: readonly ModelMessage[],
  all: readonly ModelMessage[],
  choices: readonly Choice[],
): readonly ModelMessage[] {
  let result = [...messages];
  for (const [kind, number] of choices) {
    const at = number % (result.length + 1);
    const message = result[at];
    switch (kind) {
      case "drop":
        result.splice(at, 2);
        break;
      case "add":
        result.splice(at, 0, { role: "user", content: `Added ${number}.` });
        break;
      case "word":
        if (message?.role === "user") result[at] = { role: "user", content: `Other ${number}.` };
        break;
      case "move":
        result = [...result.slice(0, at), ...result.slice(at + 1), ...result.slice(at, at + 1)];
        break;
      case "twice":
        if (message?.role === "user") result.splice(at, 0, structuredClone(message));
        break;
      case "back": {
        const former = all[number % all.length];
        if (former?.role === "user") result.push(former);
      }
    }
  }
  return result;
}

describe("messages that prepareStep returns", () => {
  it("are the prompt to the byte, whatever was changed before, and its own messages follow", () => {
    const rounds = fc.array(fc.array(choice, { maxLength: 4 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(rounds, fc.boolean(), (given, copies) => {
        const session = talked(3);
        const all: ModelMessage[] = [];
        for (const choices of given) {
          const before = prompt(session);
          all.push(...before);
          const result = changed(before, all, choices);
          if (result.at(-1)?.role === "assistant" || promptProblems(result).length > 0) continue;
          prepare(session, copies ? structuredClone(result) : result);
          expect(isSamePrompt(prompt(session), result)).toBe(true);
          stepsOf(session, 1);
          const next = prompt(session);
          expect(isSamePrompt(next.slice(0, result.length), result)).toBe(true);
          expect(next.slice(result.length).map(({ role }) => role)).toEqual(["assistant", "tool"]);
        }
      }),
      runs(200),
    );
  });

  it("cost the log what they change, however long the prompt is", () => {
    const session = talked(10);
    const sizes: number[] = [];
    for (let round = 0; round < times(1000); round++) {
      const kept = prompt(session);
      // A window over the last messages, with a reminder at its end.
      const first = kept[0];
      if (first === undefined) throw new Error("The prompt is empty.");
      const window = kept.filter(({ content }) => content !== reminder.content).slice(-20);
      const change = prepare(session, [first, ...window, reminder]);
      sizes.push(JSON.stringify(change).length);
      expect(prompt(session)).toHaveLength(22);
      stepsOf(session, 1);
    }
    expect(Math.max(...sizes)).toBeLessThan(400);
  });

  it("hold until the turn ends", () => {
    const session = talked(2);
    const whole = prompt(session);
    prepare(session, [reminder]);
    expect(prompt(session)).toEqual([reminder]);
    session.record({ type: "turn.ended", data: { turn: 1, reason: "stop" } });
    expect(prompt(session)).toEqual(whole);
    expect(session.view.changed).toBe(session.position);
  });

  it("stay where they are when a compaction replaces what was around them", () => {
    const session = talked(3);
    const [first, ...rest] = prompt(session);
    if (first === undefined) throw new Error("The prompt is empty.");
    prepare(session, [first, reminder, ...rest]);
    const covers = { from: 1, to: session.history.items.at(-1)?.position ?? 1 };
    session.record({
      type: "context.compacted",
      data: { strategy: "s", covers, summary: "So far.", beforeTokens: 9, afterTokens: 1 },
    });
    expect(prompt(session)[0]).toEqual({ role: "user", content: "So far." });
    expect(prompt(session)[1]).toEqual(reminder);
    expect(promptProblems(prompt(session))).toEqual([]);
  });

  it("are left out again where a compaction takes the results of an added call", () => {
    const session = talked(2);
    const [first, reply, ...rest] = prompt(session);
    if (first === undefined || reply?.role !== "assistant") throw new Error("No reply.");
    if (typeof reply.content === "string") throw new Error("No parts.");
    const other: ModelMessage = { ...reply, content: reply.content.slice(1) };
    prepare(session, [first, other, ...rest]);
    expect(prompt(session)[1]).toEqual(other);
    const covers = { from: 1, to: session.history.items.at(-1)?.position ?? 1 };
    session.record({
      type: "context.compacted",
      data: { strategy: "s", covers, summary: "So far.", beforeTokens: 9, afterTokens: 1 },
    });
    expect(promptProblems(prompt(session))).toEqual([]);
  });
});
