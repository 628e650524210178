/**
 * A model whose requests a real client makes and posts, while a script answers: the bodies are those that a
 * provider gets, and the usage is what it bills for them.
 */

import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { CacheLedger, type CachingProvider, type RequestBill } from "./billing.ts";

type Fetch = typeof globalThis.fetch;

const clients: Readonly<Record<CachingProvider, (fetch: Fetch) => LanguageModelV4>> = {
  anthropic: (fetch) => createAnthropic({ apiKey: "k", fetch })("claude-sonnet-4-5"),
  openai: (fetch) => createOpenAI({ apiKey: "k", fetch }).responses("gpt-5"),
  google: (fetch) => createGoogleGenerativeAI({ apiKey: "k", fetch })("gemini-2.5-pro"),
  deepseek: (fetch) => createDeepSeek({ apiKey: "k", fetch })("deepseek-chat"),
};

export interface BilledClient {
  /** The model of a client, which answers as `inner` does. */
  readonly model: (inner: LanguageModelV4) => LanguageModelV4;
  readonly bills: readonly RequestBill[];
}

/** `clock`: epoch milliseconds. `isWhole`: bills have the ledger's tokens, not the script's. */
export function billedClient(
  provider: CachingProvider,
  clock: () => number,
  isWhole = false,
): BilledClient {
  const ledger = new CacheLedger(provider);
  const bills: RequestBill[] = [];
  let posted: RequestBill | undefined;
  const client = clients[provider]((_, init) => {
    if (typeof init?.body !== "string") throw new TypeError("The client posted no JSON.");
    posted = ledger.post(JSON.parse(init.body), clock(), client.modelId);
    throw new Error("A script answers instead.");
  });
  const model = (inner: LanguageModelV4): LanguageModelV4 =>
    wrapLanguageModel({
      model: { ...inner, ...pick(client) },
      middleware: {
        specificationVersion: "v4",
        wrapStream: async ({ doStream, params }) => {
          posted = undefined;
          // It fails, once the request is posted.
          await Promise.resolve(client.doStream(params)).catch((error: unknown) => {
            if (posted === undefined) throw error;
          });
          const bill = posted;
          const answer = await doStream();
          if (bill === undefined) throw new Error("The client posted nothing.");
          bills.push(bill);
          return { ...answer, stream: answer.stream.pipeThrough(billing(bill, isWhole)) };
        },
      },
    });
  return { model, bills };
}

function pick({ provider, modelId }: LanguageModelV4) {
  return { provider, modelId };
}

/** The share of the prompt that was read and written, of the tokens that the script bills. */
function billing({ input, cacheRead, cacheWrite }: RequestBill, isWhole: boolean) {
  return new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
    transform(part, controller) {
      if (part.type !== "finish") return controller.enqueue(part);
      const whole = isWhole ? input : (part.usage.inputTokens.total ?? 0);
      const read = Math.round((whole * cacheRead) / input);
      const written = Math.round((whole * cacheWrite) / input);
      const inputTokens = {
        total: whole,
        cacheRead: read,
        cacheWrite: written,
        noCache: whole - read - written,
      };
      controller.enqueue({ ...part, usage: { ...part.usage, inputTokens } });
    },
  });
}
