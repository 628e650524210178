/** Chooses the model: by the command line, else by the environment, else by the keys that are set. */

import type { Environment } from "../../settings/environment.ts";
import { meantName, UsageError } from "../../output/error-report.ts";

/** A package of the AI SDK that is not part of turnlog. It reads its key from the environment. */
export interface InstalledProvider {
  readonly name: string;
  /** The variable of its key. */
  readonly variable: string;
}

/** `@ai-sdk/<name>` exports each under its name. */
export const installedProviders: readonly InstalledProvider[] = [
  { name: "alibaba", variable: "ALIBABA_API_KEY" },
  { name: "anthropic", variable: "ANTHROPIC_API_KEY" },
  { name: "cerebras", variable: "CEREBRAS_API_KEY" },
  { name: "cohere", variable: "COHERE_API_KEY" },
  { name: "deepseek", variable: "DEEPSEEK_API_KEY" },
  { name: "groq", variable: "GROQ_API_KEY" },
  { name: "mistral", variable: "MISTRAL_API_KEY" },
  { name: "moonshotai", variable: "MOONSHOT_API_KEY" },
  { name: "perplexity", variable: "PERPLEXITY_API_KEY" },
  { name: "xai", variable: "XAI_API_KEY" },
];

/** Servers on this machine that speak chat completions, at the ports that they use by default. */
export const localServers: Readonly<Record<string, string>> = {
  ollama: "http://127.0.0.1:11434/v1",
  lmstudio: "http://127.0.0.1:1234/v1",
  llamacpp: "http://127.0.0.1:8080/v1",
  vllm: "http://127.0.0.1:8000/v1",
};

type ModelEnvironment = Pick<Environment, "keys" | "openaiBaseUrl" | "model">;

export type ModelChoice = {
  /** Asks for the same choice again. */
  readonly label: string;
} & (
  | {
      readonly kind: "openai";
      /** The protocol: compatible servers speak chat completions. */
      readonly api: "responses" | "chat";
      readonly modelId: string;
      readonly apiKey: string;
      readonly baseUrl?: string | undefined;
    }
  | { readonly kind: "google"; readonly modelId: string; readonly apiKey: string }
  /** By a package of the AI SDK that the user installs. */
  | { readonly kind: "installed"; readonly provider: InstalledProvider; readonly modelId: string }
  /** By the gateway of the AI SDK, as `anthropic/claude-opus-5-5`. */
  | { readonly kind: "gateway"; readonly modelId: string }
  | { readonly kind: "offline"; readonly because: "asked" | "no-key" }
);

/** The first models in the guides of the providers' packages. */
export const DEFAULT_OPENAI_MODEL = "gpt-6-astra";
export const DEFAULT_GOOGLE_MODEL = "gemini-4-argon";
export const DEFAULT_ANTHROPIC_MODEL = "claude-opus-5-5";

/** The key for a server without keys: the client requires one. */
const NO_KEY = "none";

/**
 * @param remembered - The choice of an earlier chat.
 * @throws UsageError for an unknown model or a missing key
 */
export function chooseModel(
  asked: string | undefined,
  environment: ModelEnvironment,
  remembered?: string,
): ModelChoice {
  if (asked !== undefined) return askedModel(asked, environment);
  const { keys, openaiBaseUrl, model } = environment;
  if (model !== undefined) return namedModel("The environment variable MODEL", model, environment);
  if (remembered !== undefined)
    return namedModel("The model that /model chose last", remembered, environment);
  if (keys.has("OPENAI_API_KEY")) return askedModel(`openai:${DEFAULT_OPENAI_MODEL}`, environment);
  if (openaiBaseUrl !== undefined) {
    throw new UsageError(
      `OPENAI_BASE_URL is set, and only its server knows its models: name one with --model openai:<model>.`,
    );
  }
  if (keys.has("GOOGLE_GENERATIVE_AI_API_KEY"))
    return askedModel(`google:${DEFAULT_GOOGLE_MODEL}`, environment);
  if (keys.has("ANTHROPIC_API_KEY"))
    return askedModel(`anthropic:${DEFAULT_ANTHROPIC_MODEL}`, environment);
  return { label: "offline", kind: "offline", because: "no-key" };
}

/** An error says where the name is from. */
function namedModel(from: string, model: string, environment: ModelEnvironment): ModelChoice {
  try {
    return askedModel(model, environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${from} cannot be used: ${error.message}`, { cause: error });
  }
}

function askedModel(asked: string, environment: ModelEnvironment): ModelChoice {
  if (asked === "offline") return { label: asked, kind: "offline", because: "asked" };
  const [, address, served] = /^(https?:\/\/[^#]+)#(.+)$/.exec(asked) ?? [];
  if (address !== undefined && served !== undefined && URL.canParse(address))
    return serverModel(asked, address, served);
  // The name of a model may hold colons, as in `llama3.2:3b`.
  const [, provider = "", modelId] = /^([a-z-]+):(.+)$/.exec(asked) ?? [];
  if (modelId !== undefined) {
    if (provider === "openai" || provider === "openai-responses")
      return openaiModel(provider, modelId, environment);
    if (provider === "google") {
      const apiKey = keyFor(asked, "GOOGLE_GENERATIVE_AI_API_KEY", environment);
      return { label: asked, kind: "google", modelId, apiKey };
    }
    const server = localServers[provider];
    if (server !== undefined) return serverModel(asked, server, modelId);
    const installed = installedProviders.find(({ name }) => name === provider);
    if (installed !== undefined) {
      keyFor(asked, installed.variable, environment);
      return { label: asked, kind: "installed", provider: installed, modelId };
    }
  } else if (/^[a-z][\w.-]*\/[\w.:/-]+$/.test(asked)) {
    keyFor(asked, "AI_GATEWAY_API_KEY", environment);
    return { label: asked, kind: "gateway", modelId: asked };
  }
  throw new UsageError(unknownModel(asked, provider));
}

function unknownModel(asked: string, provider: string): string {
  const installed = installedProviders.map(({ name }) => name);
  const names = [
    "openai",
    "openai-responses",
    "google",
    ...installed,
    ...Object.keys(localServers),
  ];
  const meant = meantName(provider, names);
  const question = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return `There is no model ${JSON.stringify(asked)}.${question} Name one as <provider>:<model>, with ${names.join(", ")} as provider; as <creator>/<model> at the gateway of the AI SDK; as <address>#<model> at a server that is compatible with OpenAI; or offline.`;
}

function openaiModel(
  provider: "openai" | "openai-responses",
  modelId: string,
  environment: ModelEnvironment,
): ModelChoice {
  const { keys, openaiBaseUrl: baseUrl } = environment;
  const own = baseUrl === undefined || new URL(baseUrl).hostname === "api.openai.com";
  const asked = `${provider}:${modelId}`;
  const apiKey = own ? keyFor(asked, "OPENAI_API_KEY", environment) : keys.get("OPENAI_API_KEY");
  return {
    // At OpenAI both names mean the same.
    label: own ? `openai:${modelId}` : asked,
    kind: "openai",
    api: own || provider === "openai-responses" ? "responses" : "chat",
    modelId,
    apiKey: apiKey ?? NO_KEY,
    baseUrl,
  };
}

/** Without a key: one is sent only to the server that OPENAI_BASE_URL names. */
function serverModel(label: string, baseUrl: string, modelId: string): ModelChoice {
  return { label, kind: "openai", api: "chat", modelId, apiKey: NO_KEY, baseUrl };
}

/** @throws UsageError without the key */
function keyFor(model: string, variable: string, { keys }: ModelEnvironment): string {
  const key = keys.get(variable);
  if (key !== undefined) return key;
  throw new UsageError(`${model} needs a key: set ${variable}, or use --model offline.`);
}
