/** Loads a model, and the package of its provider only. */

import type { LanguageModel, LanguageModelMiddleware } from "ai";
import type { LanguageModelV4StreamPart as StreamPart } from "@ai-sdk/provider";
import { z } from "zod";
import { hasCode } from "../../../events/index.ts";
import { offlineModel } from "../../../models/index.ts";
import { UsageError } from "../../output/error-report.ts";
import type { ModelChoice } from "./model-choice.ts";

/**
 * `pace`: milliseconds before each word of the offline model.
 * @throws UsageError if the provider's package is not installed
 */
export async function loadModel(choice: ModelChoice, pace: number): Promise<LanguageModel> {
  switch (choice.kind) {
    case "openai": {
      const { api, modelId, apiKey, baseUrl } = choice;
      if (api === "chat" && baseUrl !== undefined) {
        // Unlike OpenAI's own package it reads what such servers add, as `reasoning_content`, and sends it back.
        const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
        const settings = { name: "openai", apiKey, includeUsage: true };
        const model = createOpenAICompatible({ ...settings, baseURL: baseUrl })(modelId);
        const { wrapLanguageModel } = await import("ai");
        return wrapLanguageModel({ model, middleware: withoutMadeUpError });
      }
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI({
        apiKey,
        ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
      });
      return openai.responses(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ apiKey: choice.apiKey })(choice.modelId);
    }
    case "installed":
      return await installedModel(choice.provider.name, choice.modelId);
    case "gateway":
      // The SDK asks its gateway for a model that is a name.
      return choice.modelId;
    case "offline":
      return offlineModel({ delay: pace });
  }
}

/** The client makes up an error for a stream without an end, as a proxy's page is; the session says more of those. */
const withoutMadeUpError: LanguageModelMiddleware = {
  specificationVersion: "v4",
  async wrapStream({ doStream }) {
    const { stream, ...answer } = await doStream();
    const mended = new TransformStream<StreamPart, StreamPart>({
      transform(part, controller) {
        const isMadeUp =
          part.type === "error" &&
          part.error instanceof Error &&
          part.error.message === "Response stream ended without a finish reason.";
        if (isMadeUp) return;
        const isEndless = part.type === "finish" && part.finishReason.raw === undefined;
        const finishReason = { unified: "other", raw: undefined } as const;
        controller.enqueue(isEndless ? { ...part, finishReason } : part);
      },
    });
    return { ...answer, stream: stream.pipeThrough(mended) };
  },
};

async function installedModel(name: string, modelId: string): Promise<LanguageModel> {
  const providerSchema = z.object({
    [name]: z.custom<(modelId: string) => LanguageModel>((value) => typeof value === "function"),
  });
  const source = `@ai-sdk/${name}`;
  try {
    const provider = providerSchema.parse(await import(source))[name];
    if (provider !== undefined) return provider(modelId);
  } catch (error) {
    if (!hasCode(error, "ERR_MODULE_NOT_FOUND")) throw error;
  }
  throw new UsageError(
    `${name}:${modelId} needs the package ${source}, which is not installed beside turnlog: npm install ${source} (with -g if turnlog is installed so, or npx -p turnlog -p ${source} turnlog).`,
  );
}
