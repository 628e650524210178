/**
 * A counter that asks the model's own provider. Its client builds the request of a step as ever; a
 * `fetch` that never sends it has the prompt in it counted. So there is one conversion of prompts
 * to a provider's form, the one that is billed.
 */

import { check, code, milliseconds, optionsOf } from "../../validation/index.ts";
import { jsonObjectSchema } from "../../events/index.ts";
import { countingRequest, place } from "./counting-endpoints.ts";
import type { CountRequest, TokenCounter } from "../../agent/index.ts";
import type { LanguageModel } from "ai";

type Fetch = typeof globalThis.fetch;

/** How a provider is asked to count. */
export interface ProviderCounterOptions {
  /** How the counting request is sent. Default: the global `fetch`. */
  readonly fetch?: Fetch;
  /** Milliseconds that a count may take. Default 10,000. */
  readonly timeoutMs?: number;
}

/** Of an answer that is no count, what an error says. */
const EXCERPT = 300;

const schema = optionsOf<ProviderCounterOptions>({ fetch: code, timeoutMs: milliseconds }, {});

/**
 * Counts prompts at the provider's own endpoint: OpenAI's `POST /v1/responses/input_tokens` (for the
 * Responses API), Anthropic's `POST /v1/messages/count_tokens`, Google's `models/…:countTokens`. Those
 * cost no tokens, but are requests and have rate limits. Of another provider, or of Chat Completions,
 * each count fails, and is recorded as that.
 * @param client - Makes the agent's model with a `fetch`:
 * `(fetch) => createAnthropic({ fetch })("claude-sonnet-4-5")`. Nothing else may be different.
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
        // Nothing is answered: the client is not to take this for a reply.
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

/** Has the client build and send the request of a step; what it failed with before that. */
async function callFailure(
  model: LanguageModel,
  { messages, signal, ...agent }: CountRequest,
  caught: AbortSignal,
): Promise<unknown> {
  let failure: unknown;
  try {
    // When it is first asked: who only reads a store does not load the AI SDK.
    const { languageModelCall } = await import("../model/language-model-call.ts");
    const outputs = languageModelCall.call({
      agent: { ...agent, model },
      messages,
      signal: AbortSignal.any([signal, caught]),
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
  if (typeof body !== "string") throw new TypeError(`What is sent to ${place(url)} is no JSON.`);
  const counting = countingRequest(url, jsonObjectSchema.parse(JSON.parse(body)));
  const response = await send(counting.url, {
    method: "POST",
    body: JSON.stringify(counting.body),
    signal,
    ...(headers === undefined ? {} : { headers }),
  });
  const text = await response.text();
  const said = `${place(counting.url)} answered ${response.status}: ${text.slice(0, EXCERPT)}`;
  if (!response.ok) throw new Error(said);
  try {
    return counting.tokens(JSON.parse(text));
  } catch (error) {
    throw new Error(said, { cause: error });
  }
}
