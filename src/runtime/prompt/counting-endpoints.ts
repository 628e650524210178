/** The counting endpoints of providers, and the fields of a step's request that they accept. Pure. */

import { z } from "zod";
import type { JsonValue } from "../../events/index.ts";

type Body = Readonly<Record<string, JsonValue>>;

export interface CountingRequest {
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
      if ("thread" in sent) throw new Error("What came before in a thread is not in its request.");
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
export function countingRequest(sent: URL, body: Body): CountingRequest {
  for (const endpoint of endpoints) {
    const path = endpoint.path.exec(sent.pathname);
    if (path === null) continue;
    const url = new URL(sent);
    url.pathname = sent.pathname.replace(endpoint.path, endpoint.counting);
    // Google's parameter for a stream of events.
    url.searchParams.delete("alt");
    return { url, body: endpoint.body(body, path), tokens: (answer) => endpoint.tokens(answer) };
  }
  throw new Error(`No endpoint is known that counts what is sent to ${publicUrl(sent)}.`);
}

/** A URL without parts that may be secret. */
export function publicUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
