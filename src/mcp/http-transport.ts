/**
 * The HTTP transports of the protocol's client, streamable and the older SSE, with readable answers: an unreadable or
 * missing one fails its request at once. A call can be cancelled while its answer is still awaited.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import {
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type AuthProvider,
  type JSONRPCMessage,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { EventSourceParserStream } from "@ai-sdk/provider-utils";
import { streamOf } from "../shared/index.ts";
import { cancelled, PendingRequests, whyUnread, type SentRequest } from "./pending-requests.ts";

export interface HttpTransportOptions {
  readonly url: string;
  readonly type?: "http" | "sse" | undefined;
  /** Asked for each request. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly authProvider?: AuthProvider | undefined;
  readonly onEnd: () => void;
}

/** From this protocol version on, closing a request cancels it; before, a message does. */
const CLOSED_IS_CANCELLED = "2026-07-28";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export class HttpTransport implements Transport {
  readonly hasPerRequestStream = true;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly lastOutput = "";
  readonly #options: HttpTransportOptions;
  readonly #inner: Transport;
  readonly #pending = new PendingRequests();
  /** Aborted when the answer is no longer needed, by request. */
  readonly #open = new WeakMap<SentRequest, AbortController>();
  readonly #sending = new AsyncLocalStorage<SentRequest>();
  #version = "";

  constructor(options: HttpTransportOptions) {
    const { url, type = "http", authProvider } = options;
    this.#options = options;
    const settings = { fetch: this.#fetch, ...(authProvider && { authProvider }) };
    // Deprecated: for servers of the first version.
    const inner =
      type === "sse"
        ? // oxlint-disable-next-line typescript/no-deprecated
          new SSEClientTransport(new URL(url), settings)
        : new StreamableHTTPClientTransport(new URL(url), settings);
    this.#inner = Object.assign<Transport, object>(inner, {
      onmessage: (message: JSONRPCMessage) => this.onmessage?.(message),
      onerror: (error: Error) => this.onerror?.(error),
      onclose: () => {
        this.onclose?.();
        options.onEnd();
      },
    });
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  /** Whether the message that is being handled came with the answer to the call. */
  isAnswering(input: object): boolean {
    const sent = this.#sending.getStore();
    return sent !== undefined && this.#pending.ofCall(input) === sent;
  }

  setProtocolVersion(version: string): void {
    this.#version = version;
    this.#inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const sent = this.#pending.sent(message);
    if (sent === undefined) return await this.#inner.send(message, options);
    const abandoned = new AbortController();
    this.#open.set(sent, abandoned);
    const signals = [abandoned.signal, options.requestSignal].filter((one) => one !== undefined);
    const requestSignal = AbortSignal.any(signals);
    try {
      await this.#sending.run(sent, () => this.#inner.send(message, { ...options, requestSignal }));
    } catch (error) {
      if (!abandoned.signal.aborted) throw error;
    }
  }

  /** The answer to the call is still awaited. */
  cancel(input: object): void {
    const sent = this.#pending.ofCall(input);
    if (sent === undefined) return;
    if (this.#version >= CLOSED_IS_CANCELLED) this.#open.get(sent)?.abort();
    // The request is abandoned even if this message fails.
    else this.#inner.send(cancelled(sent)).catch(() => {});
  }

  /** Closes the request of the call and fails it. */
  abandon(input: object, why: string): void {
    const sent = this.#pending.ofCall(input);
    if (sent === undefined) return;
    this.#open.get(sent)?.abort();
    this.onmessage?.(this.#pending.fail(sent, why));
  }

  async close(): Promise<void> {
    if (this.#inner instanceof StreamableHTTPClientTransport)
      await this.#inner.terminateSession().catch(() => {});
    await this.#inner.close();
  }

  readonly #fetch: Fetch = async (url, init = {}) => {
    // A login asks other addresses too, perhaps of other servers.
    const [asked, own] = [new URL(url), new URL(this.#options.url)];
    const headers = new Headers(asked.origin === own.origin ? await this.#options.headers() : {});
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
    const response = await fetch(url, { ...init, headers });
    const sent = asked.href === own.href ? this.#sending.getStore() : undefined;
    return await this.#readable(response, sent, init.signal);
  };

  async #readable(
    response: Response,
    sent: SentRequest | undefined,
    signal: AbortSignal | null | undefined,
  ): Promise<Response> {
    const { ok, body, status, headers } = response;
    const type = headers.get("content-type") ?? "";
    if (body === null) return response;
    if (ok && type.includes("text/event-stream")) {
      const events = streamOf(this.#events(body, sent, signal));
      return new Response(events, { status, headers });
    }
    if (!ok || !type.includes("application/json")) return response;
    if (sent === undefined || this.#options.type === "sse") return response;
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
    signal: AbortSignal | null | undefined,
  ): AsyncGenerator<Uint8Array> {
    const events = body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    let why = "The stream ended before there was an answer.";
    let isResumable = false;
    try {
      for await (const { event = "message", data, id } of events) {
        isResumable ||= id !== undefined && id !== "";
        if (event !== "message" || data === "") {
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
      if (signal?.aborted === true) return;
      why = whyUnread(error);
    }
    // The client resumes a stream whose events have ids.
    if (sent === undefined || !this.#pending.has(sent) || isResumable) return;
    if (this.#options.type === "sse") return;
    yield eventBytes("message", JSON.stringify(this.#pending.fail(sent, why)));
  }
}

function eventBytes(event: string, data: string, id?: string): Uint8Array {
  const lines = data.split("\n").map((line) => `data: ${line}\n`);
  const named = id === undefined ? "" : `id: ${id}\n`;
  return new TextEncoder().encode(`event: ${event}\n${named}${lines.join("")}\n`);
}
