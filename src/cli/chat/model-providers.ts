/** The providers of models by name. */

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
