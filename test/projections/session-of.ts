/** Short logs for tests of the folds: what matters is said, the rest is filled in. */

import type { EventBody, SessionEvent } from "../../src/events/index.ts";
import { promptMessages } from "../../src/projections/prompt.ts";
import type { SessionState } from "../../src/state/index.ts";
import { replay } from "../support/replay.ts";

/** An agent as events name it. */
export const agent = {
  model: { provider: "turnlog", modelId: "scripted" },
  instructionsDigest: "",
  tools: [],
  digest: "one",
} as const;

export const created: EventBody = { type: "session.created", data: { agent } };

/** The state after these events, each a second after the one before it. */
export function stateOf(...bodies: readonly EventBody[]): SessionState {
  return replay(
    bodies.map((body, index): SessionEvent => ({
      position: index + 1,
      time: index * 1000,
      ...body,
    })),
  ).last;
}

export function promptOf(...bodies: readonly EventBody[]): ReturnType<typeof promptMessages> {
  const { history, view } = stateOf(...bodies);
  return promptMessages(history, view);
}

/** A message that is delivered as it is accepted, at the start of a turn. */
export function asked(content: string, turn = 1): readonly EventBody[] {
  const id = `m${turn}`;
  return [
    { type: "message.queued", data: { id, content, delivery: "follow-up" } },
    { type: "turn.started", data: { turn, maxSteps: 9 } },
    { type: "message.delivered", data: { ids: [id], turn, boundary: "turn" } },
  ];
}

export function stepStarted(step: number, attempt = 1): EventBody {
  const model = { provider: "turnlog", modelId: "scripted" };
  const estimate = { tokens: 10, basis: "length" } as const;
  return {
    type: "step.started",
    data: { turn: 1, step, attempt, model, promptDigest: "", estimate },
  };
}

export const spent = { basis: "measured", inputTokens: 10, outputTokens: 2 } as const;

export function stepFinished(
  step: number,
  finishReason: "stop" | "tool-calls" = "stop",
): EventBody {
  return { type: "step.finished", data: { step, finishReason, usage: spent, response: {} } };
}

export function said(text: string, id = "t"): readonly EventBody[] {
  return [
    { type: "part.text-start", data: { id } },
    { type: "part.text-delta", data: { id, text } },
    { type: "part.text-end", data: { id } },
  ];
}

export function called(toolCallId: string, input: string | number = 1): EventBody {
  return { type: "part.tool-call", data: { toolCallId, toolName: "work", input: { input } } };
}

export function turnEnded(turn = 1): EventBody {
  return { type: "turn.ended", data: { turn, reason: "stop" } };
}
