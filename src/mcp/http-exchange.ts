/**
 * The `fetch` for the HTTP transports of `@ai-sdk/mcp`: an unreadable answer fails its request, and a cancelled
 * call is cancelled at the server. For JSON responses, streams of a request, and the older SSE transport.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { JSONRPCMessage } from "@ai-sdk/mcp";
import { EventSourceParserStream } from "@ai-sdk/provider-utils";
import { onAbort, after, streamOf } from "../shared/index.ts";
import { cancelled, PendingRequests, whyUnread, type SentRequest } from "./pending-requests.ts";

interface OpenRequest {
  readonly sent: SentRequest;
  readonly url: string | URL | Request;
  readonly init: RequestInit;
  /** Aborted when the answer is no longer needed. */
  readonly abandoned: AbortController;
}

interface OpenCall {
  isCancelled: boolean;
  request?: OpenRequest;
}

/** From this protocol version on, closing a request cancels it; before, a message does. */
const CLOSED_IS_CANCELLED = "2026-07-28";

export class HttpExchange {
  readonly #type: "http" | "sse";
  readonly #graceMs: number;
  readonly #pending = new PendingRequests();
  readonly #running = new AsyncLocalStorage<OpenCall>();
  /** Calls by their input objects. */
  readonly #calls = new WeakMap<object, OpenCall>();

  /** @param graceMs - Milliseconds for an answer to a cancelled call. */
  constructor(type: "http" | "sse", graceMs: number) {
    this.#type = type;
    this.#graceMs = graceMs;
  }

  /** The requests of the call belong to this input object. */
  async call<Answer>(input: object, make: () => Promise<Answer>): Promise<Answer> {
    const call: OpenCall = { isCancelled: false };
    this.#calls.set(input, call);
    try {
      return await this.#running.run(call, make);
    } finally {
      // Without an answer, the request was abandoned.
      if (call.request !== undefined) this.#pending.forget(call.request.sent.id);
    }
  }

  cancel(input: object): void {
    const call = this.#calls.get(input);
    if (call === undefined) return;
    call.isCancelled = true;
    if (call.request !== undefined) this.#stop(call.request);
  }

  readonly fetch = async (
    url: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const sent = this.#pending.sent(messageIn(init.body));
    const abandoned = new AbortController();
    const signal = init.signal
      ? AbortSignal.any([init.signal, abandoned.signal])
      : abandoned.signal;
    const call = this.#running.getStore();
    if (sent !== undefined && call !== undefined) {
      if (call.isCancelled) return await endOf(init.signal);
      call.request = { sent, url, init, abandoned };
    }
    try {
      return await this.#readable(await fetch(url, { ...init, signal }), sent, signal);
    } catch (error) {
      if (abandoned.signal.aborted) return await endOf(init.signal);
      throw error;
    }
  };

  #stop({ sent, url, init, abandoned }: OpenRequest): void {
    const version = new Headers(init.headers).get("mcp-protocol-version") ?? "";
    if (version >= CLOSED_IS_CANCELLED) {
      abandoned.abort();
      return;
    }
    const notified = fetch(url, { ...init, body: JSON.stringify(cancelled(sent.id)) });
    // The request is abandoned even if this message fails.
    notified.then((response) => response.body?.cancel()).catch(() => {});
    const abandon = (): void => {
      abandoned.abort();
    };
    after(this.#graceMs, abandon, false);
  }

  async #readable(
    response: Response,
    sent: SentRequest | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const { ok, body, status, headers } = response;
    const type = headers.get("content-type") ?? "";
    if (!ok || body === null) return response;
    if (type.includes("text/event-stream")) {
      const events = streamOf(this.#events(body, sent, signal));
      return new Response(events, { status, headers });
    }
    if (!type.includes("application/json") || sent === undefined || this.#type === "sse") {
      return response;
    }
    const messages = this.#messages(await response.text(), sent);
    return new Response(JSON.stringify(messages), { status, headers });
  }

  #messages(text: string, sent: SentRequest): readonly JSONRPCMessage[] {
    try {
      const messages = this.#pending.read(JSON.parse(text));
      if (!this.#pending.has(sent)) return messages;
      return [
        ...messages,
        this.#pending.fail(sent, "The response contains no answer to the request."),
      ];
    } catch (error) {
      return [this.#pending.fail(sent, whyUnread(error))];
    }
  }

  async *#events(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    sent: SentRequest | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const events = body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    let why = "The stream ended before there was an answer.";
    try {
      for await (const { event = "message", data, id } of events) {
        if (event !== "message") {
          yield eventBytes(event, data, id);
          continue;
        }
        try {
          for (const message of this.#pending.read(JSON.parse(data))) {
            yield eventBytes(event, JSON.stringify(message), id);
          }
        } catch (error) {
          why = whyUnread(error);
          const failed = this.#pending.unread(data, why);
          if (failed !== undefined) yield eventBytes(event, JSON.stringify(failed), id);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      why = whyUnread(error);
    }
    if (sent === undefined || !this.#pending.has(sent) || this.#type === "sse") return;
    yield eventBytes("message", JSON.stringify(this.#pending.fail(sent, why)));
  }
}

function messageIn(body: RequestInit["body"]): unknown {
  return typeof body === "string" ? JSON.parse(body) : undefined;
}

/** An abandoned request has no answer: it ends with the signal of its caller. */
async function endOf(signal: AbortSignal | null | undefined): Promise<never> {
  const end = Promise.withResolvers<never>();
  if (signal) {
    onAbort(signal, () => {
      end.reject(
        signal.reason instanceof Error ? signal.reason : new Error("The request was abandoned."),
      );
    });
  }
  return await end.promise;
}

function eventBytes(event: string, data: string, id?: string): Uint8Array {
  const lines = data.split("\n").map((line) => `data: ${line}\n`);
  const named = id === undefined ? "" : `id: ${id}\n`;
  return new TextEncoder().encode(`event: ${event}\n${named}${lines.join("")}\n`);
}
