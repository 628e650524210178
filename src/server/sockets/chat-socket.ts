/**
 * A WebSocket for many chats, by the protocol of the AI SDK's `WebSocketChatTransport`. Each frame becomes a
 * request to the chat's routes, so it passes the same checks and has the same effect; the chunks of the answer
 * are frames.
 */

import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import { firstAbort } from "../../shared/index.ts";
import { problemOf } from "../problems/problem.ts";
import type { FrameReader, Socket } from "./server-socket.ts";

/** Answers a request by the server's routes. */
export type Ask = (request: Request) => Promise<Response>;

const headers = z.record(z.string(), z.string());
const body = z.record(z.string(), z.unknown());
const requestId = z.string().min(1);

/** `metadata` and `lastSequence` are refused where they have a value: nothing here reads them. */
const frame = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("send"),
    requestId,
    id: z.string(),
    trigger: z.string(),
    messageId: z.string().optional(),
    messages: z.array(z.unknown()),
    headers,
    body,
  }),
  z.strictObject({ type: z.literal("resume"), requestId, id: z.string(), headers, body }),
  z.strictObject({ type: z.literal("abort"), requestId }),
]);

type Frame = z.output<typeof frame>;
type Asked = Exclude<Frame, { readonly type: "abort" }>;

/** @param handshake - The request that was upgraded. Its headers win over those of frames. */
export function serveChatSocket(
  socket: Socket,
  handshake: Request,
  allowed: readonly string[],
  ask: Ask,
): FrameReader {
  const running = new Map<string, AbortController>();
  const say = (type: string, id: string, more: object = {}): Promise<void> =>
    socket.send(JSON.stringify({ type, requestId: id, ...more }));

  async function handle(asked: Asked): Promise<void> {
    const left = new AbortController();
    using ends = firstAbort(left.signal, socket.closed);
    const { signal } = ends;
    running.set(asked.requestId, left);
    try {
      const answer = await ask(
        requestOf(asked, headersOf(asked, handshake, allowed), handshake, signal),
      );
      if (answer.status === 204) return await say("no-active", asked.requestId);
      if (!answer.ok || answer.body === null)
        return await say("error", asked.requestId, { errorText: await refusal(answer) });
      if (asked.type === "resume") await say("start", asked.requestId);
      let sequence = 0;
      for await (const data of dataOf(answer.body, signal)) {
        if (data === "[DONE]") return await say("end", asked.requestId);
        const id = JSON.stringify(asked.requestId);
        await socket.send(
          `{"type":"chunk","requestId":${id},"sequence":${sequence++},"chunk":${data}}`,
        );
      }
      await say("error", asked.requestId, {
        errorText: "The stream broke off. Resume the reply.",
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (running.get(asked.requestId) === left) running.delete(asked.requestId);
    }
  }

  return async (text) => {
    let id: string | undefined;
    try {
      const given: unknown = JSON.parse(text);
      ({ requestId: id } = z.looseObject({ requestId }).parse(given));
      const read = frame.safeParse(given);
      if (!read.success) throw unreadable(z.prettifyError(read.error));
      // Leaving is not stopping: a page also aborts when a component unmounts.
      if (read.data.type === "abort") running.get(id)?.abort();
      else await handle(read.data);
    } catch (error) {
      if (socket.closed.aborted) return;
      if (id === undefined) socket.close(1008, "A frame must be JSON with a type and a requestId.");
      else await say("error", id, { errorText: problemOf(error).detail });
    }
  };
}

/** @param allowed - What a frame may give: a proxy sees no frame, so it takes no header of a user from one. */
function headersOf(
  { headers: given }: Asked,
  handshake: Request,
  allowed: readonly string[],
): Headers {
  const all = new Headers(
    Object.entries(given).filter(([name]) => allowed.includes(name.toLowerCase())),
  );
  for (const [name, value] of handshake.headers) all.set(name, value);
  all.set("content-type", "application/json");
  return all;
}

function requestOf(asked: Asked, given: Headers, handshake: Request, signal: AbortSignal): Request {
  if (asked.type === "resume") {
    const url = new URL(`/api/chat/${encodeURIComponent(asked.id)}/stream`, handshake.url);
    return new Request(url, { headers: given, signal });
  }
  const { id, messages, trigger, messageId, requestId: key } = asked;
  if (!given.has("idempotency-key")) given.set("idempotency-key", key);
  const posted = JSON.stringify({ ...asked.body, id, messages, trigger, messageId });
  const url = new URL("/api/chat", handshake.url);
  return new Request(url, { method: "POST", headers: given, body: posted, signal });
}

async function refusal(answer: Response): Promise<string> {
  const problem = z.looseObject({ detail: z.string() }).safeParse(await answer.json());
  return problem.success ? problem.data.detail : "The server failed.";
}

/** The data of the server's own stream of events, whose chunks are JSON of one line. */
async function* dataOf(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<string, void, void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream(), { signal })) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) yield line.slice("data: ".length);
  }
}

function unreadable(why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `The frame does not fit: ${why}`);
}
