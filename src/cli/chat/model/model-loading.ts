/** Loads a model, and the package of its provider only. */

import type { LanguageModel } from "ai";
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
      const { createOpenAI } = await import("@ai-sdk/openai");
      const { api, modelId, apiKey, baseUrl } = choice;
      const openai = createOpenAI({
        apiKey,
        ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
      });
      return api === "chat" ? openai.chat(modelId) : openai.responses(modelId);
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
