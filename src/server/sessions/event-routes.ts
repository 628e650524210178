/** The events of a session as server-sent events: past, then live, without a gap. */

import { z } from "zod";
import { TurnlogError, type SessionEvent } from "../../events/index.ts";
import { numberQuery, route, type Call, type Route } from "../route/route.ts";
import { eventStream, withProblem, type ServerSentEvent } from "../streams/event-stream.ts";

export function eventRoutes(): readonly Route[] {
  return [
    route({
      method: "get",
      path: "/api/sessions/{session}/events",
      action: "read",
      summary:
        "The events from a position (default 1): stored ones, then live ones. `Last-Event-ID` resumes behind a position.",
      query: z.strictObject({ from: numberQuery.optional() }),
      answer: {
        kind: "media",
        mediaType: "text/event-stream",
        words: "One event each: `id` is its position, `data` the event as JSON.",
      },
      handle: async (call) => {
        const session = await call.open();
        const from = await startOf(call, call.query.from);
        return eventStream(
          (signal) => withProblem(asMessages(session.events({ from, signal }))),
          call.stream,
          {},
          call.ended,
        );
      },
    }),
  ];
}

async function* asMessages(events: AsyncIterable<SessionEvent>): AsyncGenerator<ServerSentEvent> {
  for await (const event of events)
    yield { id: String(event.position), data: JSON.stringify(event) };
}

/** The position to begin with. @throws TurnlogError `INVALID_INPUT` behind the next position */
async function startOf(
  { request, runtime, session }: Call,
  from: number | undefined,
): Promise<number> {
  const cursor = request.headers.get("last-event-id");
  const start = cursor === null ? (from ?? 1) : /^\d{1,15}$/.test(cursor) ? Number(cursor) + 1 : 0;
  const last = await runtime.log.revision(session);
  if (start >= 1 && start <= last + 1) return start;
  throw new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has the positions 1 to ${last}; its events cannot begin ${cursor === null ? `at ${from}` : `behind ${JSON.stringify(cursor)}`}.`,
    { session, position: last, details: { option: cursor === null ? "from" : "last-event-id" } },
  );
}
