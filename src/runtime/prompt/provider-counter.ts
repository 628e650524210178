/**
 * A token counter that asks the model's provider. The provider's client builds the request of a step; a
 * `fetch` sends a counting request instead: the counted prompt has exactly the billed form.
 */

import { firstAbort } from "../../shared/index.ts";
import { check, code, milliseconds, optionsOf } from "../../validation/index.ts";
import { jsonObjectSchema, textStart } from "../../events/index.ts";
import { countingRequest, publicUrl } from "./counting-endpoints.ts";
import type { CountRequest, TokenCounter } from "../../agent/index.ts";
import type { LanguageModel } from "ai";

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
    throw new TypeError(`What is sent to ${publicUrl(url)} is no JSON.`);
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
