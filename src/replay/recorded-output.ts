/** The `output` of a recorded message: its turn parses no text, but has the recorded outcome. Pure. */

import type { OutputInterface } from "ai";
import type { Agent } from "../agent/index.ts";
import type { SessionEvent, TurnOutput } from "../events/index.ts";
import { isTimeUp, recordedError } from "../models/index.ts";

/** Undefined for other events, without structured output, and for an agent with its own, which is compared. */
export function recordedOutput(
  event: SessionEvent,
  events: readonly SessionEvent[],
  agent: Agent,
): OutputInterface<unknown> | undefined {
  if (event.type !== "message.queued" || agent.output !== undefined) return undefined;
  const messageId = event.data.id;
  const delivery = events.find(
    ({ type, data }) => type === "message.delivered" && data.ids.includes(messageId),
  );
  if (delivery?.type !== "message.delivered") return undefined;
  const { turn } = delivery.data;
  const end = events.find(({ type, data }) => type === "turn.ended" && data.turn === turn);
  if (end?.type !== "turn.ended") return undefined;
  const { output } = end.data;
  if (output === undefined && !isStoppedAtEnd(events.slice(0, end.position))) return undefined;
  return {
    name: "recorded",
    responseFormat: Promise.resolve(undefined),
    parseCompleteOutput: () => outcomeOf(output),
    parsePartialOutput: () => Promise.resolve(undefined),
    createElementStreamTransform: () => undefined,
  };
}

/** Of a turn that was stopped while its output was parsed, the output never comes. */
async function outcomeOf(output: TurnOutput | undefined): Promise<unknown> {
  if (output === undefined) return await new Promise<never>(() => {});
  if (output.error !== undefined) throw recordedError(output.error);
  return output.value;
}

/** Whether a stop came after the last step of a turn and its calls. */
function isStoppedAtEnd(events: readonly SessionEvent[]): boolean {
  const last = events.findLastIndex(
    ({ type }) => type.startsWith("step.") || type.startsWith("tool."),
  );
  return (
    events[last]?.type === "step.finished" &&
    events.slice(last).some((event) => event.type === "turn.cancel-requested" || isTimeUp(event))
  );
}
