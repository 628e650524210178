/** A provider over HTTP on 127.0.0.1: it enforces its rules, bills, and ends replies in every way that gateways do. */

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { contentTypeOf, frame } from "../corpus/wire-stream.ts";
import { clientOf, type ClientOptions } from "./clients.ts";
import { providers, type ProviderFormat, type ProviderName } from "./providers.ts";
import { chunksOf, streamedError, type Bill, type ReplyPart } from "./replies.ts";
import type { Breach } from "./rule.ts";

/**
 * How a stream ends:
 * - `finished`: as it should;
 * - `cut`: the connection ends in order, without a reason to finish;
 * - `reset`: the connection breaks in the middle of a chunk;
 * - `error`: an error comes in the stream, and then its end;
 * - `hang`: nothing comes any more, and the connection stays open.
 */
type Ending = "finished" | "cut" | "reset" | "error" | "hang";

interface Reply {
  /** None: an empty reply. */
  readonly parts?: readonly ReplyPart[];
  /** The reason to finish in the provider's words, such as `error`, or one that nobody knows. */
  readonly finish?: string;
  readonly ending?: Ending;
}

/** An answer that is no stream: a refusal, or a gateway's error with the status 200. */
interface RawAnswer {
  readonly status: number;
  readonly body: string | object;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Answer = Reply | RawAnswer;

/** One request as the provider saw it. */
interface PostedRequest {
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The breaches of its rules: with any, or a planted cause, the request was refused. */
  readonly breaches: readonly Breach[];
  readonly refused: string | undefined;
}

interface FakeProviderOptions extends ClientOptions {
  /** One after the other, and then a short text; or for each body. Refused requests get none and count for none. */
  readonly answers?: readonly Answer[] | ((body: unknown, index: number) => Answer);
  /** A planted cause: words for a 400, which no rule has, or undefined. Asked before the rules. */
  readonly refuse?: (body: unknown) => string | undefined;
  /** Whether the rules are enforced. Without it breaches are only kept. Default: true. */
  readonly enforced?: boolean;
  /** What a request is billed. Default: a token for each four characters, nothing cached. */
  readonly bill?: (body: unknown) => Omit<Bill, "output">;
}

export interface FakeProvider extends AsyncDisposable {
  /** The origin. */
  readonly url: string;
  /** The real client of the provider, asking this server. */
  readonly model: LanguageModelV4;
  /** In the order of arrival; grows. */
  readonly requests: readonly PostedRequest[];
}

const said: Answer = { parts: [{ text: ["That is", " all."] }] };

export async function fakeProvider(
  name: ProviderName,
  options: FakeProviderOptions = {},
): Promise<FakeProvider> {
  const { answers = [], refuse, enforced = true, bill = plainBill } = options;
  const { format, rulebook, refusal } = providers[name];
  const requests: PostedRequest[] = [];
  let answered = 0;

  function answerTo(body: unknown): Answer {
    const index = answered++;
    return typeof answers === "function" ? answers(body, index) : (answers[index] ?? said);
  }

  const server = createServer((message, response) => {
    void (async () => {
      const body = await json(message);
      const breaches = rulebook.breaches(body);
      const refused = refuse?.(body) ?? (enforced ? breaches[0]?.words : undefined);
      const { url: path = "/", headers } = message;
      requests.push({ path, body, headers, breaches, refused });
      if (refused !== undefined) {
        send(response, { status: 400, body: refusal(refused), headers: refusalHeaders(format) });
        return;
      }
      const answer = answerTo(body);
      if ("status" in answer) {
        send(response, answer);
        return;
      }
      await stream(response, name, answer, {
        number: requests.length,
        bill: bill(body),
      });
    })().catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    model: clientOf(name, url, options),
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

function plainBill(body: unknown): Omit<Bill, "output"> {
  return { input: Math.ceil(JSON.stringify(body).length / 4) };
}

function refusalHeaders(format: ProviderFormat): Readonly<Record<string, string>> {
  return format === "amazon-bedrock" ? { "x-amzn-errortype": "ValidationException" } : {};
}

function send(response: ServerResponse, { status, body, headers }: RawAnswer): void {
  const isText = typeof body === "string";
  response.writeHead(status, {
    "content-type": isText ? "text/html; charset=utf-8" : "application/json",
    ...headers,
  });
  response.end(isText ? body : JSON.stringify(body));
}

async function stream(
  response: ServerResponse,
  provider: ProviderName,
  { parts = [], finish, ending = "finished" }: Reply,
  { number, bill }: { readonly number: number; readonly bill: Omit<Bill, "output"> },
): Promise<void> {
  const { format } = providers[provider];
  const output = Math.ceil(JSON.stringify(parts).length / 4);
  const { content, end } = chunksOf[format]({
    parts,
    finish,
    bill: { ...bill, output },
    number,
    provider,
  });
  response.writeHead(200, { "content-type": contentTypeOf(format) });
  const write = async (bytes: Uint8Array): Promise<void> => {
    await new Promise<void>((resolve) => response.write(bytes, () => resolve()));
    // The client reads between two chunks.
    await nextTurn();
  };
  const whole = ending === "reset" ? content.slice(0, -1) : content;
  for (const chunk of whole) await write(framed(format, chunk));
  switch (ending) {
    case "finished":
      for (const chunk of end) await write(framed(format, chunk));
      response.end();
      return;
    case "cut":
      response.end();
      return;
    case "reset": {
      const last = framed(format, content.at(-1) ?? {});
      await write(last.subarray(0, Math.ceil(last.length / 2)));
      await nextTurn();
      response.socket?.resetAndDestroy();
      return;
    }
    case "error":
      await write(framed(format, streamedError[format]));
      response.end();
      return;
    case "hang":
  }
}

/** Chunks of the chat format are framed without the `[DONE]` at its end, which is a chunk of its own here. */
function framed(format: ProviderFormat, chunk: object | "[DONE]"): Uint8Array {
  const text = typeof chunk === "string" ? chunk : JSON.stringify(chunk);
  return frame(format === "openai-chat" ? "openai-responses" : format, [text]);
}
