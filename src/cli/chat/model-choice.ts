/** Chooses the model: by the command line, else by the environment, else by the keys that are set. */

import type { LanguageModel } from "ai";
import { offlineModel } from "../../models/index.ts";
import type { Environment } from "../settings/index.ts";
import { UsageError } from "../output/index.ts";

type ModelEnvironment = Pick<Environment, "openaiKey" | "openaiBaseUrl" | "googleKey" | "model">;

export type ModelChoice =
  | {
      readonly kind: "openai";
      /** The protocol: compatible servers speak chat completions. */
      readonly api: "responses" | "chat";
      readonly modelId: string;
      readonly apiKey: string;
      readonly baseUrl?: string | undefined;
    }
  | { readonly kind: "google"; readonly modelId: string; readonly apiKey: string }
  | { readonly kind: "offline"; readonly because: "asked" | "no-key" };

/** The first models in the guides of the providers' packages. */
export const DEFAULT_OPENAI_MODEL = "gpt-6-astra";
export const DEFAULT_GOOGLE_MODEL = "gemini-4-argon";

/** The key for a server without keys: the client requires one. */
const NO_KEY = "none";

export function modelLabel(choice: ModelChoice): string {
  switch (choice.kind) {
    case "openai":
      // For a compatible server, the plain name means chat completions.
      return choice.api === "responses" && !isOpenAi(choice.baseUrl)
        ? `openai-responses:${choice.modelId}`
        : `openai:${choice.modelId}`;
    case "google":
      return `google:${choice.modelId}`;
    case "offline":
      return "offline";
  }
}

/** @throws UsageError for an unknown model or a missing key */
export function chooseModel(asked: string | undefined, environment: ModelEnvironment): ModelChoice {
  if (asked !== undefined) return askedModel(asked, environment);
  const { openaiKey, openaiBaseUrl, googleKey, model } = environment;
  if (model !== undefined) return namedModel(model, environment);
  if (openaiKey !== undefined) return openaiModel("openai", DEFAULT_OPENAI_MODEL, environment);
  if (openaiBaseUrl !== undefined) {
    throw new UsageError(
      `OPENAI_BASE_URL is set, and only its server knows its models: name one with --model openai:<model>.`,
    );
  }
  if (googleKey !== undefined) return googleModel(DEFAULT_GOOGLE_MODEL, environment);
  return { kind: "offline", because: "no-key" };
}

/** The model of the variable MODEL; an error names the variable. */
function namedModel(model: string, environment: ModelEnvironment): ModelChoice {
  try {
    return askedModel(model, environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`The environment variable MODEL cannot be used: ${error.message}`, {
      cause: error,
    });
  }
}

function askedModel(asked: string, environment: ModelEnvironment): ModelChoice {
  if (asked === "offline") return { kind: "offline", because: "asked" };
  // The name of a model may hold colons, as in `llama3.2:3b`.
  const [, provider, modelId] = /^([a-z-]+):(.+)$/.exec(asked) ?? [];
  if (modelId !== undefined) {
    if (provider === "openai" || provider === "openai-responses") {
      return openaiModel(provider, modelId, environment);
    }
    if (provider === "google") return googleModel(modelId, environment);
  }
  throw new UsageError(
    `There is no model ${JSON.stringify(asked)}. Name one as openai:<model>, openai-responses:<model> or google:<model>, or offline.`,
  );
}

function openaiModel(
  provider: "openai" | "openai-responses",
  modelId: string,
  { openaiKey, openaiBaseUrl: baseUrl }: ModelEnvironment,
): ModelChoice {
  const own = isOpenAi(baseUrl);
  if (own && openaiKey === undefined) throw missingKey(`${provider}:${modelId}`, "OPENAI_API_KEY");
  return {
    kind: "openai",
    api: own || provider === "openai-responses" ? "responses" : "chat",
    modelId,
    apiKey: openaiKey ?? NO_KEY,
    baseUrl,
  };
}

function isOpenAi(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || new URL(baseUrl).hostname === "api.openai.com";
}

function googleModel(modelId: string, { googleKey: apiKey }: ModelEnvironment): ModelChoice {
  if (apiKey === undefined) throw missingKey(`google:${modelId}`, "GOOGLE_GENERATIVE_AI_API_KEY");
  return { kind: "google", modelId, apiKey };
}

function missingKey(model: string, variable: string): UsageError {
  return new UsageError(`${model} needs a key: set ${variable}, or use --model offline.`);
}

/** Loads the package of the model's provider and of no other. `pace`: milliseconds before each word of the offline model. */
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
    case "offline":
      return offlineModel({ delay: pace });
  }
}
