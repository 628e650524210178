/** The `output` of a recorded message: its turn parses no text, but has the recorded outcome. Pure. */

import type { OutputInterface } from "ai";
import type { Agent } from "../agent/index.ts";
import type { SessionEvent } from "../events/index.ts";
import { recordedError } from "../models/index.ts";

/**
 * Undefined for other events, for a turn without structured output, and for an agent with an output of
 * its own, which is compared.
 * @param events - All recorded events.
 */
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
  const output = end?.type === "turn.ended" ? end.data.output : undefined;
  if (output === undefined) return undefined;
  return {
    name: "recorded",
    responseFormat: Promise.resolve(undefined),
    parseCompleteOutput: () =>
      output.error === undefined
        ? Promise.resolve(output.value)
        : Promise.reject(recordedError(output.error)),
    parsePartialOutput: () => Promise.resolve(undefined),
    createElementStreamTransform: () => undefined,
  };
}
