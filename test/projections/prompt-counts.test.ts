/** The last counted prompt: a step asks for at most one count, and one for another agent does not hold. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import type { PromptCounts } from "../../src/projections/prompt-counts.ts";
import { asked, spent, stateOf, stepFinished, stepStarted } from "./session-of.ts";

const model = { provider: "turnlog", modelId: "scripted" };
const about = { counter: "provider", model, estimatedTokens: 9 };
const counted: EventBody = { type: "context.counted", data: { ...about, tokens: 7 } };
const error = { name: "Error", message: "" };
const failed: EventBody = { type: "context.count-failed", data: { ...about, error } };
const agent = { digest: "d2", model, tools: [] };
const from = { session: "s", position: 1 };

const after = (...bodies: readonly EventBody[]): PromptCounts =>
  stateOf(...asked("Go."), ...bodies).counts;

const position = asked("Go.").length + 1;
const last = { position, model, tokens: 7, turn: 1, step: 0 };

it("a count is known with its place, and so is that one was asked for", () => {
  expect(stateOf().counts).toStrictEqual({ turn: 0, step: 0, asked: false });
  expect(after()).toStrictEqual({ turn: 1, step: 0, asked: false });
  expect(after(counted)).toStrictEqual({ turn: 1, step: 0, asked: true, last });
  expect(after(failed)).toStrictEqual({ turn: 1, step: 0, asked: true });
  expect(after(counted, failed).last).toStrictEqual(last);
  expect(after(stepStarted(4), counted).last).toMatchObject({ step: 4, position: position + 1 });
});

it("another may be asked for once the step has ended or a turn begins, and the last one holds", () => {
  const ends: readonly EventBody[] = [
    stepFinished(1),
    { type: "step.failed", data: { step: 1, error, usage: spent } },
    { type: "step.interrupted", data: { step: 1, reason: "cancelled", usage: spent } },
  ];
  for (const end of ends)
    expect(after(counted, stepStarted(1), end)).toStrictEqual({
      turn: 1,
      step: 1,
      asked: false,
      last,
    });
  const begun: EventBody = { type: "turn.started", data: { turn: 2, maxSteps: 9 } };
  expect(after(counted, begun)).toStrictEqual({ turn: 2, step: 0, asked: false, last });
  expect(after(counted, stepStarted(1)).asked).toBe(true);
});

it("a count does not hold for another agent", () => {
  const asIs = { turn: 1, step: 0, asked: true };
  expect(after(counted, { type: "session.configured", data: { agent } })).toStrictEqual(asIs);
  expect(after(counted, { type: "session.forked", data: { from, agent } })).toStrictEqual(asIs);
  const kept = after(counted, { type: "session.forked", data: { from } });
  expect(kept).toStrictEqual({ ...asIs, last });
});
