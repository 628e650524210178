/** The events of a turn by the names of the message stream. */

import type { SessionEvent } from "../../events/index.ts";
import type { Session, Turn } from "../../runtime/index.ts";
import { problemOf } from "../problems/problem.ts";
import type { ServerSentEvent } from "../streams/event-stream.ts";

/** From the queue to the end of the turn that delivers the message: past, then live. */
export async function* messageEvents(
  session: Session,
  turn: Turn,
  place: number,
  left: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  const { messageId, queued } = turn;
  if (queued) yield named("message:queued", { messageId, position: place });
  let running: number | undefined;
  try {
    for await (const event of session.events({ from: turn.queuePosition, signal: left })) {
      if (event.type === "message.withdrawn" && event.data.ids.includes(messageId)) break;
      if (event.type === "message.delivered" && event.data.ids.includes(messageId)) {
        running = event.data.turn;
        if (queued) yield named("message:dequeued", { messageId });
      }
      if (running === undefined) continue;
      const one = namedEvent(event);
      if (one !== undefined) yield one;
      if (event.type === "turn.ended" && event.data.turn === running) break;
    }
    if (left.aborted) return;
    const { text, finishReason, usage } = await turn.result;
    const { inputTokens, outputTokens } = usage;
    yield named("llm:response", { text, finishReason, usage: { inputTokens, outputTokens } });
  } catch (error) {
    const { code, detail } = problemOf(error);
    yield named("llm:error", { code, message: detail });
  }
}

function namedEvent(event: SessionEvent): ServerSentEvent | undefined {
  switch (event.type) {
    case "part.reasoning-delta":
      return named("llm:thinking", { text: event.data.text });
    case "part.text-delta":
      return named("llm:chunk", { text: event.data.text });
    case "part.tool-call": {
      const { toolCallId: callId, toolName, input } = event.data;
      return named("llm:tool-call", { callId, toolName, input });
    }
    case "part.tool-result": {
      const { toolCallId: callId, output, preliminary } = event.data;
      return preliminary === true ? undefined : result(callId, "succeeded", { output });
    }
    case "part.tool-error":
      return result(event.data.toolCallId, "failed", { error: event.data.error });
    case "tool.succeeded":
      return result(event.data.callId, "succeeded", { output: event.data.output });
    case "tool.failed":
      return result(event.data.callId, "failed", { error: event.data.error.message });
    case "tool.denied":
      return result(event.data.callId, "denied", { error: event.data.reason });
    case "tool.skipped":
      return result(event.data.callId, "skipped", { error: event.data.reason });
    case "tool.unknown":
      return result(event.data.callId, "unknown", { error: event.data.reason });
    case "context.compacted": {
      const { beforeTokens: originalTokens, afterTokens: compressedTokens } = event.data;
      return named("context:compressed", { originalTokens, compressedTokens });
    }
    default:
      return undefined;
  }
}

function result(callId: string, status: string, outcome: object): ServerSentEvent {
  return named("llm:tool-result", { callId, status, ...outcome });
}

function named(event: string, data: object): ServerSentEvent {
  return { event, data: JSON.stringify(data) };
}
