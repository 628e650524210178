/** Which model answers, for every way to ask and every key that may be there. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readEnvironment } from "../../src/cli/settings/environment.ts";
import {
  chooseModel,
  DEFAULT_GOOGLE_MODEL,
  DEFAULT_OPENAI_MODEL,
  DEFAULT_ANTHROPIC_MODEL,
  installedProviders,
} from "../../src/cli/chat/model/model-choice.ts";
import { UsageError } from "../../src/cli/output/error-report.ts";

const server = "http://localhost:11434/v1";
const openai = { OPENAI_API_KEY: "o" };
const anthropic = { ANTHROPIC_API_KEY: "a" };
const google = { GOOGLE_GENERATIVE_AI_API_KEY: "g" };

function choose(asked: string | undefined, variables: NodeJS.ProcessEnv): unknown {
  return chooseModel(asked, readEnvironment(variables));
}

describe("without --model", () => {
  it("the provider answers whose key is there, OpenAI before Google before Anthropic, else the offline model", () => {
    expect(choose(undefined, openai)).toMatchObject({
      kind: "openai",
      api: "responses",
      modelId: DEFAULT_OPENAI_MODEL,
    });
    expect(choose(undefined, google)).toMatchObject({
      kind: "google",
      modelId: DEFAULT_GOOGLE_MODEL,
    });
    expect(choose(undefined, { ...openai, ...google })).toMatchObject({ kind: "openai" });
    expect(choose(undefined, { ...google, ...anthropic })).toMatchObject({ kind: "google" });
    expect(choose(undefined, anthropic)).toMatchObject({
      kind: "installed",
      provider: { name: "anthropic" },
      modelId: DEFAULT_ANTHROPIC_MODEL,
    });
    expect(choose(undefined, {})).toMatchObject({ kind: "offline", because: "no-key" });
  });

  it("a variable that is set to nothing is not set", () => {
    const nothing = { OPENAI_API_KEY: "", OPENAI_BASE_URL: " ", GOOGLE_GENERATIVE_AI_API_KEY: "" };
    expect(choose(undefined, nothing)).toMatchObject({ kind: "offline", because: "no-key" });
  });

  it.each([
    ["@ai-sdk/openai", DEFAULT_OPENAI_MODEL],
    ["@ai-sdk/google", DEFAULT_GOOGLE_MODEL],
    ["@ai-sdk/anthropic", DEFAULT_ANTHROPIC_MODEL],
  ])("the default of %s, %s, is a model that the installed package knows", async (name, model) => {
    const file = fileURLToPath(import.meta.resolve(name)).replace(/js$/, "d.ts");
    const source = (await readFile(file, "utf8")).replaceAll("'", '"');
    expect(source).toContain(`"${model}"`);
  });
});

describe("with --model", () => {
  it.each([
    ["openai:gpt-x", openai, { kind: "openai", api: "responses", modelId: "gpt-x", apiKey: "o" }],
    ["openai:a:b", { OPENAI_BASE_URL: server }, { api: "chat", modelId: "a:b", baseUrl: server }],
    ["openai-responses:a", { OPENAI_BASE_URL: server }, { api: "responses", modelId: "a" }],
    [
      "openai:a",
      { ...openai, OPENAI_BASE_URL: "https://api.openai.com/v1" },
      { api: "responses", modelId: "a" },
    ],
    ["google:gemini-x", google, { kind: "google", modelId: "gemini-x", apiKey: "g" }],
    ["offline", openai, { kind: "offline", because: "asked" }],
    ["anthropic:claude-x", anthropic, { kind: "installed", modelId: "claude-x" }],
    ["mistral:m:1", { MISTRAL_API_KEY: "m" }, { kind: "installed", modelId: "m:1" }],
    ["openai/gpt-x", { AI_GATEWAY_API_KEY: "g" }, { kind: "gateway", modelId: "openai/gpt-x" }],
    [
      "ollama:llama3.2:3b",
      openai,
      { api: "chat", apiKey: "none", baseUrl: "http://127.0.0.1:11434/v1" },
    ],
    [`${server}#a/b:c`, openai, { api: "chat", apiKey: "none", baseUrl: server, modelId: "a/b:c" }],
  ])("%s is that model", (asked, variables, choice) => {
    expect(choose(asked, variables)).toMatchObject(choice);
  });

  it.each([
    ["openai:gpt-x", google],
    ["openai:gpt-x", { OPENAI_BASE_URL: "https://api.openai.com/v1" }],
    ["google:gemini-x", openai],
    ["openai:", openai],
    ["gpt-x", openai],
    ["anthropic:claude", openai],
    ["antropic:claude", anthropic],
    ["anthropic/claude", anthropic],
    [server, openai],
    ["http://#m", openai],
    ["", openai],
  ])("%s cannot be had and is wrong usage", (asked, variables) => {
    expect(() => choose(asked, variables)).toThrow(UsageError);
  });

  it("the label of a choice asks for the same choice again", () => {
    const gateway = { AI_GATEWAY_API_KEY: "g" };
    const variables = { ...openai, ...google, ...anthropic, ...gateway, OPENAI_BASE_URL: server };
    const environment = readEnvironment(variables);
    for (const asked of [
      "openai:a:b",
      "openai-responses:a",
      "google:g",
      "anthropic:c",
      "x/y",
      "vllm:v",
      `${server}#m`,
      "offline",
    ]) {
      expect(chooseModel(asked, environment).label).toBe(asked);
    }
    expect(chooseModel("openai-responses:a", readEnvironment(openai)).label).toBe("openai:a");
  });
});

it.each(installedProviders)(
  "@ai-sdk/$name exports the provider by its name, and reads the key from $variable",
  async ({ name, variable }) => {
    const source = `@ai-sdk/${name}`;
    expect(await import(source)).toHaveProperty(name, expect.any(Function));
    const text = await readFile(fileURLToPath(import.meta.resolve(source)), "utf8");
    expect(text).toContain(`environmentVariableName: "${variable}"`);
  },
);
