/**
 * The stream of a reply as the AI SDK reads it: one JSON chunk an event, and `[DONE]` at the end. The last
 * chunk of each event of the log has its position as `id`, so that a client can go on behind it.
 */

import { uiStreamEvents } from "../../runtime/index.ts";
import { problemOf } from "../problems/index.ts";
import type { Call } from "../route/index.ts";
import { eventStream, type ServerSentEvent } from "../streams/index.ts";
import type { Reply } from "./chat-request.ts";

/** The answer with the chunks of a reply. When the client leaves, the turn goes on. */
export function chunkStream(reply: Reply, { stream, ended }: Call): Response {
  return eventStream((left) => chunks(reply, left), stream, headers, ended);
}

const headers = { "x-vercel-ai-ui-message-stream": "v1" };

async function* chunks(
  { session, stream }: Reply,
  left: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  try {
    for await (const { position, chunks: encoded } of uiStreamEvents(session, stream, left)) {
      for (const [index, chunk] of encoded.entries()) {
        const id = index === encoded.length - 1 ? { id: String(position) } : {};
        yield { ...id, data: JSON.stringify(chunk) };
      }
    }
  } catch (error) {
    const { code, detail } = problemOf(error);
    // The reply goes on when the process starts again: a stream without `[DONE]` is asked for once more.
    if (code === "RUNTIME_CLOSED") return;
    yield { data: JSON.stringify({ type: "error", errorText: detail }) };
  }
  yield { data: "[DONE]" };
}
