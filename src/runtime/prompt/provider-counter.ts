/**
 * A token counter that asks the model's provider. The provider's client builds the request of a step; a
 * `fetch` sends a counting request instead: the counted prompt has exactly the billed form.
 */

import {
  firstAbort,
  unlessAborted,
  onAbort,
  toStoredError,
  type Timer,
} from "../../shared/index.ts";
import { check, code, milliseconds, optionsOf } from "../../validation/index.ts";
import { jsonObjectSchema, textStart, type JsonValue, type EventBody } from "../../events/index.ts";
import {
  type CountRequest,
  type TokenCounter,
  callSettings,
  DEFAULT_COUNT_MS,
  requestTools,
} from "../../agent/index.ts";
import type { LanguageModel } from "ai";
import { z } from "zod";
import { wouldCompact, type Place } from "./context-figures.ts";
import { isPossible } from "../model/checked-usage.ts";
import { loadedFor } from "../model/call-request.ts";
import type { SessionRecorder } from "../../state/index.ts";

type Fetch = typeof globalThis.fetch;

export interface ProviderCounterOptions {
  /** How the counting request is sent. Default: the global `fetch`. */
  readonly fetch?: Fetch;
  /** Milliseconds that a count may take. Default 10,000. */
  readonly timeoutMs?: number;
}

const EXCERPT = 300;

const schema = optionsOf<ProviderCounterOptions>({ fetch: code, timeoutMs: milliseconds }, {});

/**
 * Counts prompts at the provider's endpoint: OpenAI's `POST /v1/responses/input_tokens` (Responses API),
 * Anthropic's `POST /v1/messages/count_tokens`, Google's `models/…:countTokens`. Counts cost no tokens,
 * but have rate limits. For other providers and for Chat Completions each count fails, and the failure is
 * recorded.
 * @param client - Makes the agent's model with a `fetch`, and otherwise the same:
 * `(fetch) => createAnthropic({ fetch })("claude-sonnet-4-5")`.
 * @example
 * const counter = providerCounter((fetch) => createAnthropic({ fetch })("claude-sonnet-4-5"));
 * const agent: Agent = { model, context: { counter } };
 */
export function providerCounter(
  client: (fetch: Fetch) => LanguageModel,
  given: ProviderCounterOptions = {},
): TokenCounter {
  check(schema, given, "providerCounter", { name: "options" });
  const { fetch: send = globalThis.fetch, ...options } = given;
  return {
    name: "provider",
    ...options,
    async count(request) {
      const caught = new AbortController();
      let counted: number | undefined;
      let failure: unknown;
      const model = client(async (input, init) => {
        try {
          counted = await countSent(input, init, send, request.signal);
        } catch (error) {
          failure = error;
        }
        // Throws, so that the client does not take the count for a reply.
        caught.abort();
        throw caught.signal.reason;
      });
      const before = await callFailure(model, request, caught.signal);
      failure ??= before;
      if (counted !== undefined) return counted;
      if (failure instanceof Error) throw failure;
      throw new Error("The client sent nothing that could be counted.", { cause: failure });
    },
  };
}

/** Lets the client build and send the request of a step. Returns the error of a failure before the request. */
async function callFailure(
  model: LanguageModel,
  { messages, signal, ...agent }: CountRequest,
  caught: AbortSignal,
): Promise<unknown> {
  let failure: unknown;
  using stops = firstAbort(signal, caught);
  try {
    // Loaded at the first count: a program that only reads a store does not load the AI SDK.
    const { languageModelCall } = await import("../model/language-model-call.ts");
    const outputs = languageModelCall.call({
      agent: { ...agent, model },
      messages,
      signal: stops.signal,
    });
    for await (const output of outputs) {
      if (output.kind === "part" && output.part.type === "part.error") failure = output.error;
    }
  } catch (error) {
    failure = error;
  }
  return caught.aborted ? undefined : failure;
}

async function countSent(
  input: Parameters<Fetch>[0],
  { body, headers }: RequestInit = {},
  send: Fetch,
  signal: AbortSignal,
): Promise<number> {
  const url = new URL(input instanceof Request ? input.url : input);
  if (typeof body !== "string")
    throw new TypeError(`The request to ${publicUrl(url)} is not JSON.`);
  const counting = countingRequest(url, jsonObjectSchema.parse(JSON.parse(body)));
  const response = await send(counting.url, {
    method: "POST",
    body: JSON.stringify(counting.body),
    signal,
    ...(headers === undefined ? {} : { headers }),
  });
  const text = await response.text();
  const answer = `${publicUrl(counting.url)} answered ${response.status}: ${textStart(text, EXCERPT)}`;
  if (!response.ok) throw new Error(answer);
  try {
    return counting.tokens(JSON.parse(text));
  } catch (error) {
    throw new Error(answer, { cause: error });
  }
}

// The counting endpoints of providers, and the fields of a step's request that they accept. Pure.

type Body = Readonly<Record<string, JsonValue>>;

interface CountingRequest {
  readonly url: URL;
  readonly body: Body;
  /** The tokens in the response. @throws ZodError for another response */
  tokens(answer: unknown): number;
}

interface Endpoint {
  readonly path: RegExp;
  readonly counting: string;
  /** @throws Error for a request that does not contain its whole prompt */
  body(sent: Body, path: RegExpExecArray): Body;
  tokens(answer: unknown): number;
}

const inputTokens = z.looseObject({ input_tokens: z.number() });
const totalTokens = z.looseObject({ totalTokens: z.number() });

function only(sent: Body, fields: readonly string[]): Body {
  return Object.fromEntries(Object.entries(sent).filter(([field]) => fields.includes(field)));
}

const endpoints: readonly Endpoint[] = [
  {
    // https://developers.openai.com/api/reference/resources/responses/subresources/input_tokens
    path: /\/responses$/,
    counting: "/responses/input_tokens",
    body: (sent) =>
      only(sent, [
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "text",
        "reasoning",
        "truncation",
        "conversation",
        "previous_response_id",
      ]),
    tokens: (answer) => inputTokens.parse(answer).input_tokens,
  },
  {
    // https://platform.claude.com/docs/en/api/messages/count_tokens, and `beta/messages/count_tokens`
    // for context_management and mcp_servers, which a request has only with its beta header.
    path: /\/messages$/,
    counting: "/messages/count_tokens",
    body(sent) {
      if ("thread" in sent)
        throw new Error("A request of a thread does not contain the earlier messages.");
      return only(sent, [
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "cache_control",
        "context_management",
        "mcp_servers",
      ]);
    },
    tokens: (answer) => inputTokens.parse(answer).input_tokens,
  },
  {
    // https://ai.google.dev/api/tokens: instructions and tools count only within a whole request, which
    // names its model itself. Vertex AI (`publishers/…`) takes another body.
    path: /(?<!\/publishers\/[^/]+)\/((?:models|tunedModels)\/[^/:]+):(?:generateContent|streamGenerateContent)$/,
    counting: "/$1:countTokens",
    body: (sent, [, model = ""]) => ({
      generateContentRequest: {
        model,
        ...only(sent, [
          "contents",
          "systemInstruction",
          "tools",
          "toolConfig",
          "generationConfig",
          "cachedContent",
        ]),
      },
    }),
    tokens: (answer) => totalTokens.parse(answer).totalTokens,
  },
];

/** @throws Error for an endpoint without a known counting endpoint */
function countingRequest(sent: URL, body: Body): CountingRequest {
  for (const endpoint of endpoints) {
    const path = endpoint.path.exec(sent.pathname);
    if (path === null) continue;
    const url = new URL(sent);
    url.pathname = sent.pathname.replace(endpoint.path, endpoint.counting);
    // Google's parameter for a stream of events.
    url.searchParams.delete("alt");
    return { url, body: endpoint.body(body, path), tokens: (answer) => endpoint.tokens(answer) };
  }
  throw new Error(`No endpoint is known that counts requests to ${publicUrl(sent)}.`);
}

/** A URL without parts that may be secret. */
function publicUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

// Counts the next prompt, if a count may avoid a compaction. Never throws: a failed count is an event too.

/** A guess is at most twice the truth. The factor of a model has the same bound. */
const LARGEST_ERROR = 2;

interface CountRun {
  readonly recorder: Pick<SessionRecorder, "believesBill">;
  readonly timer: Timer;
  readonly signal: AbortSignal;
}

type CountEvent = EventBody<"context.counted"> | EventBody<"context.count-failed">;

/** The event of a count; undefined if no request is worth it. */
export async function countPrompt(place: Place, run: CountRun): Promise<CountEvent | undefined> {
  const { state, setup, messages, estimate } = place;
  const { agent, description } = setup.prepared;
  const { counter } = agent.context ?? {};
  if (counter === undefined || !mayFit(place)) return undefined;
  const { instructions, toolChoice, headers, providerOptions } = agent;
  const tools = requestTools(loadedFor(agent, state.history));
  const request = {
    counter: counter.name,
    model: description.model,
    estimatedTokens: estimate.tokens,
  };
  try {
    const tokens = await answer(counter, run, {
      messages,
      ...(instructions === undefined ? {} : { instructions }),
      ...(tools === undefined ? {} : { tools }),
      ...callSettings(agent),
      ...(toolChoice === undefined ? {} : { toolChoice }),
      ...(headers === undefined ? {} : { headers }),
      ...(providerOptions === undefined ? {} : { providerOptions }),
    });
    if (
      !run.recorder.believesBill() &&
      !isPossible(tokens, { ...setup.prepared, messages, usage: state.usage })
    ) {
      throw new RangeError(
        `The counter ${counter.name} returned ${tokens} tokens, which is more than the bytes of the prompt.`,
      );
    }
    return { type: "context.counted", data: { ...request, tokens } };
  } catch (error) {
    return { type: "context.count-failed", data: { ...request, error: toStoredError(error) } };
  }
}

/** Whether the prompt may be below its limit, given the largest error of the guess. Counts once a step. */
function mayFit(place: Place): boolean {
  if (place.state.counts.asked) return false;
  const { tokens, since } = place.estimate;
  const guessed = since === undefined ? tokens : Math.abs(since.added) + Math.abs(since.removed);
  const least = tokens - guessed * (1 - 1 / LARGEST_ERROR);
  return guessed > 0 && !wouldCompact(place, least);
}

/** @throws the counter's error, `TimeoutError`, `RangeError` for an invalid number, or the signal's reason */
async function answer(
  counter: TokenCounter,
  { timer, signal }: CountRun,
  request: Omit<CountRequest, "signal">,
): Promise<number> {
  const { name, timeoutMs = DEFAULT_COUNT_MS } = counter;
  const stop = new AbortController();
  using _ = onAbort(signal, () => {
    stop.abort(signal.reason);
  });
  const late = (): void => {
    const message = `The counter ${name} took longer than ${timeoutMs} ms.`;
    stop.abort(new DOMException(message, "TimeoutError"));
  };
  const limit = timer(timeoutMs, late, { kind: "count" });
  // A synchronous throw is handled as a rejection.
  const counting = (async () => await counter.count({ ...request, signal: stop.signal }))();
  const tokens = await unlessAborted(counting, stop.signal, () => {}).finally(() => {
    limit[Symbol.dispose]();
  });
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new RangeError(
    `The counter ${name} returned ${String(tokens)}, which is not a number of tokens.`,
  );
}
