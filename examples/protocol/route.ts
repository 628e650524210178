/** A route that streams a session in this protocol, for any framework with web-standard requests. */

import { streamEvents, TurnlogError, type Runtime } from "turnlog";
import { completions, type Chunk } from "./encoder.ts";

/**
 * Server-sent events of a thread: its last reply, and all later ones. A page's `EventSource` connects again by itself
 * and sends the id of the last event that it has, and gets what comes behind it. In a product: check first whether the
 * user may read the thread.
 */
export async function completionStream(runtime: Runtime, request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  try {
    const id = searchParams.get("thread") ?? "";
    const session = await runtime.session(id, { createIfMissing: false });
    const given = request.headers.get("last-event-id") ?? searchParams.get("after");
    const after = Number(given);
    const place = given === null ? {} : { from: after + 1, after };
    const events = streamEvents(session, { ...place, untilRest: false }, completions(session.id));
    return new Response(events.pipeThrough(written()), {
      headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
    });
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    return new Response(error.message, { status: error.code === "SESSION_NOT_FOUND" ? 404 : 400 });
  }
}

interface Item {
  readonly position: number;
  readonly chunks: readonly Chunk[];
}

/** The position comes with the last chunk of an event: whoever has that one has all of them. */
function written(): TransformStream<Item, Uint8Array> {
  const encoder = new TextEncoder();
  return new TransformStream<Item, Uint8Array>({
    transform({ position, chunks }, controller) {
      const data = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
      const text = [...data.slice(0, -1), `id: ${position}\n`, ...data.slice(-1)].join("");
      controller.enqueue(encoder.encode(text));
    },
  });
}
