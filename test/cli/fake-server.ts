/** A server for the real client of a provider: it answers chat completions as Ollama and vLLM do, or what a test streams. */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { z } from "zod";

interface Request {
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: RequestBody;
}

interface RequestBody {
  /** Empty if the path or a header names it. */
  readonly model: string;
  readonly messages?: readonly { readonly role: string; readonly [name: string]: unknown }[];
  readonly tools?: readonly object[];
}

const bodySchema: z.ZodType<RequestBody> = z.looseObject({
  model: z.string().default(""),
  messages: z.array(z.looseObject({ role: z.string() })).exactOptional(),
  tools: z.array(z.looseObject({})).exactOptional(),
});

export interface FakeServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly Request[];
}

export type Reply = (request: Request, response: ServerResponse) => unknown;

export async function fakeServer(reply: Reply): Promise<FakeServer> {
  const requests: Request[] = [];
  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = bodySchema.parse(await json(message));
    const request = {
      path: message.url,
      authorization: message.headers.authorization,
      headers: message.headers,
      body,
    };
    requests.push(request);
    await reply(request, response);
  }
  const server = createServer((message, response) => {
    answer(message, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Streams events as any protocol of server-sent events. */
export function streamEvents(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
}

/** Streams chunks of chat completions, and what they cost. */
export async function streamChunks(
  response: ServerResponse,
  choices: Iterable<object> | AsyncIterable<object>,
  [prompt_tokens, completion_tokens]: readonly [number, number] = [20, 5],
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const base = { id: "c-1", object: "chat.completion.chunk", created: 1, model: "m" };
  for await (const choice of choices) {
    response.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, ...choice }] })}\n\n`);
  }
  const total_tokens = prompt_tokens + completion_tokens;
  const usage = { prompt_tokens, completion_tokens, total_tokens };
  response.write(`data: ${JSON.stringify({ ...base, choices: [], usage })}\n\n`);
  response.end("data: [DONE]\n\n");
}
