/** Which model answers, for every way to ask and every key that may be there. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readEnvironment } from "../../src/cli/settings/environment.ts";
import {
  chooseModel,
  DEFAULT_GOOGLE_MODEL,
  DEFAULT_OPENAI_MODEL,
  modelLabel,
} from "../../src/cli/chat/model-choice.ts";
import { UsageError } from "../../src/cli/output/error-report.ts";

const server = "http://localhost:11434/v1";
const openai = { OPENAI_API_KEY: "o" };
const google = { GOOGLE_GENERATIVE_AI_API_KEY: "g" };

function choose(asked: string | undefined, variables: NodeJS.ProcessEnv): unknown {
  return chooseModel(asked, readEnvironment(variables));
}

describe("without --model", () => {
  it("the provider answers whose key is there, OpenAI before Google, else the offline model", () => {
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
    expect(choose(undefined, {})).toEqual({ kind: "offline", because: "no-key" });
  });

  it("a variable that is set to nothing is not set", () => {
    const nothing = { OPENAI_API_KEY: "", OPENAI_BASE_URL: " ", GOOGLE_GENERATIVE_AI_API_KEY: "" };
    expect(choose(undefined, nothing)).toEqual({ kind: "offline", because: "no-key" });
  });

  it.each([
    ["@ai-sdk/openai", DEFAULT_OPENAI_MODEL],
    ["@ai-sdk/google", DEFAULT_GOOGLE_MODEL],
  ])("the default of %s, %s, is a model that the installed package knows", async (name, model) => {
    const source = await readFile(fileURLToPath(import.meta.resolve(name)), "utf8");
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
    ["", openai],
  ])("%s cannot be had and is wrong usage", (asked, variables) => {
    expect(() => choose(asked, variables)).toThrow(UsageError);
  });

  it("the label of a choice asks for the same choice again", () => {
    const variables = { ...openai, ...google, OPENAI_BASE_URL: server };
    const environment = readEnvironment(variables);
    for (const asked of ["openai:a:b", "openai-responses:a", "google:g", "offline"]) {
      expect(modelLabel(chooseModel(asked, environment))).toBe(asked);
    }
    expect(modelLabel(chooseModel("openai:a", readEnvironment(openai)))).toBe("openai:a");
  });
});
