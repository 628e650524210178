/** Makes the chosen model. Loads the package of its provider and of no other. */

import type { LanguageModel } from "ai";
import { offlineModel } from "../../models/index.ts";
import type { ModelChoice } from "./model-choice.ts";

/** @param offlineDelayMs - Milliseconds before each delta of the offline model. */
export async function loadModel(
  choice: ModelChoice,
  offlineDelayMs: number,
): Promise<LanguageModel> {
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
    case "offline":
      return offlineModel({ delay: offlineDelayMs });
  }
}
