/** The routes of the message stream and of its queue. */

import { z } from "zod";
import { encodedEvents, type Session, type Turn } from "../../runtime/index.ts";
import {
  errorTextOf,
  errorWords,
  toolErrorText,
  type EventEncoder,
  type Hidden,
  type UIOptions,
} from "../../ui/index.ts";
import { json, route, type Call, type Route } from "../route/route.ts";
import { type MessagePart, messageInput, postedMessage } from "../sessions/posted-message.ts";
import { eventStream, type ServerSentEvent } from "../streams/event-stream.ts";
import type { Gate } from "../streams/permitted-events.ts";
import type { SessionEvent } from "../../events/index.ts";

const posted = z.strictObject({
  sessionId: z.string(),
  message: postedMessage,
});

export function messageRoutes(): readonly Route[] {
  return [
    route({
      name: "streamMessage",
      method: "post",
      path: "/api/message-stream",
      action: "send",
      audience: "user",
      summary:
        "Sends a message and streams its turn: llm:thinking, llm:chunk, llm:tool-call, llm:tool-result, llm:response, llm:error, context:compressed, message:queued, message:dequeued.",
      body: posted,
      answer: {
        kind: "media",
        mediaType: "text/event-stream",
        words: "Named events with JSON data.",
      },
      sessionOf: ({ body }) => body.sessionId,
      handle: async (call) => {
        const { session, turn, place } = await accepted(call, call.body.message);
        const gate = call.gate("send");
        return eventStream(
          (left) => messageEvents(session, turn, place, call, left, gate),
          call.stream,
          {},
          call.ended,
        );
      },
    }),
    route({
      name: "queueMessage",
      method: "post",
      path: "/api/message-queue",
      action: "send",
      audience: "user",
      summary:
        "Sends a message: its place in the queue, from 1. A message that begins at once was the first.",
      body: posted,
      answer: z.object({ queued: z.literal(true), position: z.int(), messageId: z.string() }),
      sessionOf: ({ body }) => body.sessionId,
      handle: async (call) => {
        const { turn, place } = await accepted(call, call.body.message);
        return json({ queued: true, position: place, messageId: turn.messageId });
      },
    }),
    route({
      name: "messageQueue",
      method: "get",
      path: "/api/message-queue/status",
      action: "read",
      audience: "user",
      summary: "The waiting messages, oldest first.",
      query: z.strictObject({ sessionId: z.string() }),
      answer: z.object({
        pending: z.int(),
        messages: z.array(z.looseObject({ id: z.string(), position: z.int() })),
      }),
      sessionOf: ({ query }) => query.sessionId,
      handle: async ({ open }) => {
        const { queue } = await (await open()).view();
        const messages = queue.map(({ id, content, delivery, time }, index) => ({
          id,
          position: index + 1,
          content,
          delivery,
          time,
        }));
        return json({ pending: queue.length, messages });
      },
    }),
    route({
      name: "cancelMessage",
      method: "post",
      path: "/api/message-cancel",
      action: "cancel",
      audience: "user",
      summary: "Cancels the running turn. `state` says what it was doing.",
      body: z.strictObject({ sessionId: z.string() }),
      answer: z.object({
        cancelled: z.boolean(),
        state: z.enum(["idle", "streaming", "tools", "compacting"]),
        partialPersisted: z.boolean(),
      }),
      sessionOf: ({ body }) => body.sessionId,
      handle: async ({ open, by }) => {
        const { was, ended, kept } = await (await open()).cancel(by);
        return json({
          cancelled: ended === "cancelled",
          state: was,
          partialPersisted: kept.text !== "" || kept.calls.length > 0,
        });
      },
    }),
  ];
}

interface Accepted {
  readonly session: Session;
  readonly turn: Turn;
  /** The place in the queue, from 1. */
  readonly place: number;
}

async function accepted(
  call: Pick<Call, "open" | "sender" | "blob">,
  message: string | readonly MessagePart[],
): Promise<Accepted> {
  const session = await call.open({ create: true });
  const turn = await session.send(await messageInput(call, message), call.sender);
  const { queue } = await session.view();
  // Delivered by now: it was the first.
  const waiting = Math.max(
    0,
    queue.findIndex(({ id }) => id === turn.messageId),
  );
  return { session, turn, place: waiting + 1 };
}

// The events of a turn by the names of the message stream.

/** From the queue to the end of the turn that delivers the message: past, then live. */
async function* messageEvents(
  session: Session,
  turn: Turn,
  place: number,
  { ui, hide, problem }: Pick<Call, "ui" | "hide" | "problem">,
  left: AbortSignal,
  gate: Gate,
): AsyncGenerator<ServerSentEvent> {
  const { messageId, queued } = turn;
  if (queued) yield named("message:queued", { messageId, position: place });
  try {
    const stream = { messageId, untilRest: false };
    const events = encodedEvents(session, stream, messageEncoder(turn, ui), left, gate);
    for await (const { chunks } of events) {
      if (chunks.includes("end")) break;
      for (const chunk of chunks) if (chunk !== "end") yield chunk;
    }
    if (left.aborted) return;
    const { text, finishReason, usage } = await turn.result;
    const { inputTokens, outputTokens } = usage;
    const figures = hide.includes("usage") ? {} : { usage: { inputTokens, outputTokens } };
    yield named("llm:response", { text, finishReason, ...figures });
  } catch (error) {
    const { code, detail } = problem(error);
    yield named("llm:error", { code, message: detail });
  }
}

/** From the delivery of the message, also in the middle of a turn, to the end of that turn. */
function messageEncoder(
  { messageId, queued }: Turn,
  ui: UIOptions,
): EventEncoder<boolean, ServerSentEvent | "end"> {
  return {
    initial: () => false,
    encode: (isDelivered, event) => {
      const chunk = isDelivered ? namedEvent(event, ui) : undefined;
      if (event.type !== "message.delivered" || !event.data.ids.includes(messageId))
        return { state: isDelivered, chunks: chunk === undefined ? [] : [chunk] };
      return { state: true, chunks: queued ? [named("message:dequeued", { messageId })] : [] };
    },
  };
}

function namedEvent(event: SessionEvent, ui: UIOptions): ServerSentEvent | "end" | undefined {
  const { hide = [] } = ui;
  const isShown = (what: Hidden, data: object): object => (hide.includes(what) ? {} : data);
  switch (event.type) {
    case "turn.ended":
      return "end";
    case "part.reasoning-delta":
      return hide.includes("reasoning")
        ? undefined
        : named("llm:thinking", { text: event.data.text });
    case "part.text-delta":
      return named("llm:chunk", { text: event.data.text });
    case "part.tool-call": {
      const { toolCallId: callId, toolName, input } = event.data;
      return named("llm:tool-call", { callId, toolName, ...isShown("tool-data", { input }) });
    }
    case "part.tool-result": {
      const { toolCallId: callId, output, preliminary } = event.data;
      return preliminary === true
        ? undefined
        : result(callId, "succeeded", isShown("tool-data", { output }));
    }
    case "part.tool-error":
      return result(event.data.toolCallId, "failed", {
        error: errorTextOf(errorWords(event.data.error), event.position, ui),
      });
    case "tool.succeeded":
      return result(
        event.data.callId,
        "succeeded",
        isShown("tool-data", { output: event.data.output }),
      );
    case "tool.failed":
      return result(event.data.callId, "failed", { error: toolErrorText(event, ui) });
    case "tool.denied":
      return result(event.data.callId, "denied", { error: event.data.reason });
    case "tool.skipped":
      return result(event.data.callId, "skipped", { error: event.data.reason });
    case "tool.unknown":
      return result(event.data.callId, "unknown", { error: event.data.reason });
    case "context.compacted": {
      if (hide.includes("usage")) return undefined;
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
