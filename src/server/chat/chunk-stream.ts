/** The stream of a reply as the AI SDK reads it: one JSON chunk an event, and `[DONE]` at the end. */

import { uiStream } from "../../runtime/index.ts";
import { problemOf } from "../problems/index.ts";
import type { Call } from "../route/index.ts";
import { eventStream, type ServerSentEvent } from "../streams/index.ts";
import type { Reply } from "./chat-request.ts";

/** The answer with the chunks of a reply. When the client leaves, the turn goes on. */
export function chunkStream(
  { session, stream }: Reply,
  { stream: settings, ended }: Call,
): Response {
  return eventStream((left) => chunks(session, stream, left), settings, headers, ended);
}

const headers = { "x-vercel-ai-ui-message-stream": "v1" };

async function* chunks(
  session: Reply["session"],
  options: Reply["stream"],
  left: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  const reader = uiStream(session, options).getReader();
  const leave = (): void => void reader.cancel().catch(() => {});
  left.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield { data: JSON.stringify(value) };
    }
  } catch (error) {
    yield { data: JSON.stringify({ type: "error", errorText: problemOf(error).detail }) };
  } finally {
    left.removeEventListener("abort", leave);
  }
  yield { data: "[DONE]" };
}
