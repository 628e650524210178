// From a manifest row to the real provider client, pointed at a server, and the tools that its recorded calls
// name: without them the calls would come out as invalid.
import { createAlibaba } from "@ai-sdk/alibaba";
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { anthropic, createAnthropic } from "@ai-sdk/anthropic";
import { createAzure } from "@ai-sdk/azure";
import { createCerebras } from "@ai-sdk/cerebras";
import { createCohere } from "@ai-sdk/cohere";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogle, google } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createMoonshotAI } from "@ai-sdk/moonshotai";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI, openai } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createPerplexity } from "@ai-sdk/perplexity";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { createXai, xai } from "@ai-sdk/xai";
import { tool, type Tool, type ToolSet } from "ai";
import { z } from "zod";
import type { WireFamily, WireRow } from "./wire-manifest.ts";

/** A client and its tools. Tools that the provider does not run itself have an `execute` with a made-up answer. */
export interface WireModel {
  readonly model: LanguageModelV4;
  readonly tools: ToolSet;
}

/** What of a row decides about its client and tools. */
export type WireSubject = Pick<WireRow, "family" | "file" | "url" | "tools">;

/** The real client for a row, asking `url` (an origin) instead of its provider. */
export function wireModel(row: WireSubject, url: string): WireModel {
  return {
    model: clients[row.family](url, row),
    tools: Object.fromEntries(
      row.tools.map((name) => [name, providerTool(row, name) ?? functionTool(name)]),
    ),
  };
}

const apiKey = "recorded";

const clients: Record<WireFamily, (url: string, row: WireSubject) => LanguageModelV4> = {
  "openai-responses": (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses("gpt-5.1"),
  "openai-chat": (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat("gpt-4.1"),
  "openai-completion": (url) =>
    createOpenAI({ baseURL: `${url}/v1`, apiKey }).completion("gpt-3.5-turbo-instruct"),
  google: (url) =>
    createGoogle({ baseURL: `${url}/v1beta`, apiKey, generateId: countedIds() }).chat(
      "gemini-2.5-flash",
    ),
  "google-interactions": (url) =>
    createGoogle({ baseURL: `${url}/v1beta`, apiKey, generateId: countedIds() }).interactions(
      "gemini-2.5-flash",
    ),
  anthropic: (url) =>
    createAnthropic({ baseURL: `${url}/v1`, apiKey, generateId: countedIds() }).chat(
      "claude-sonnet-4-5",
    ),
  alibaba: (url) => createAlibaba({ baseURL: `${url}/v1`, apiKey })("qwen3-max"),
  azure: (url, row) => {
    const azure = createAzure({ baseURL: `${url}/openai`, apiKey, apiVersion: "v1" });
    if (row.file.includes("deepseek")) return azure.deepseek("deepseek");
    return azure.responses("gpt-5.1");
  },
  "amazon-bedrock": (url) =>
    createAmazonBedrock({ region: "recorded", baseURL: url, apiKey, generateId: countedIds() })(
      "anthropic.claude-3",
    ),
  cerebras: (url) => createCerebras({ baseURL: `${url}/v1`, apiKey })("gpt-oss-120b"),
  cohere: (url) =>
    createCohere({ baseURL: `${url}/v2`, apiKey, generateId: countedIds() })("command-a"),
  deepseek: (url) => createDeepSeek({ baseURL: `${url}/v1`, apiKey })("deepseek-reasoner"),
  groq: (url) => createGroq({ baseURL: `${url}/v1`, apiKey })("qwen/qwen3-32b"),
  mistral: (url) =>
    createMistral({ baseURL: `${url}/v1`, apiKey, generateId: countedIds() })("mistral-large"),
  moonshotai: (url) => createMoonshotAI({ baseURL: `${url}/v1`, apiKey })("kimi-k2"),
  "open-responses": (url) =>
    createOpenResponses({ name: "recorded", url: `${url}/v1/responses`, apiKey })("local"),
  "openai-compatible": (url) =>
    createOpenAICompatible({ name: "recorded", baseURL: `${url}/v1`, apiKey }).chatModel("local"),
  perplexity: (url) => createPerplexity({ baseURL: url, apiKey })("sonar"),
  xai: (url, row) => {
    const xai = createXai({ baseURL: `${url}/v1`, apiKey });
    return row.url.includes("/responses") ? xai.responses("grok-4") : xai.chat("grok-4");
  },
};

/** Ids that the client makes up where the provider sends none; the OpenAI client cannot be given any. */
function countedIds(): () => string {
  let count = 0;
  return () => `made-up-${++count}`;
}

function functionTool(name: string): Tool {
  return tool({
    description: `The recorded tool ${name}.`,
    inputSchema: z.looseObject({}),
    execute: () => ({ done: true }),
  });
}

/** The provider's own tool of this name, in the version that the file name tells; undefined for a function tool. */
function providerTool({ family, file }: WireSubject, name: string): Tool | undefined {
  const recordedWith = (version: string): boolean => file.includes(version);
  if (family === "anthropic") {
    switch (name) {
      case "advisor":
        return anthropic.tools.advisor_20260301({ model: "claude-opus-4-7" });
      case "code_execution":
        return recordedWith("20260120")
          ? anthropic.tools.codeExecution_20260120()
          : anthropic.tools.codeExecution_20250825();
      case "tool_search":
        return recordedWith("regex")
          ? anthropic.tools.toolSearchRegex_20251119()
          : anthropic.tools.toolSearchBm25_20251119();
      case "web_fetch":
        return recordedWith("20260209")
          ? anthropic.tools.webFetch_20260209()
          : anthropic.tools.webFetch_20250910();
      case "web_search":
        return anthropic.tools.webSearch_20250305();
    }
  }
  if (family === "google-interactions" && name === "google_search") {
    return google.tools.googleSearch({});
  }
  if (family === "xai") {
    // Its types come from another copy of the SDK's utilities.
    switch (name) {
      case "image_generation":
        return xai.tools.imageGeneration() as unknown as Tool;
      case "web_search":
        return xai.tools.webSearch() as unknown as Tool;
      case "x_search":
        return xai.tools.xSearch() as unknown as Tool;
    }
  }
  if (family === "openai-responses" || family === "azure") {
    switch (name) {
      case "apply_patch":
        return openai.tools.applyPatch({ execute: () => ({ status: "completed" }) });
      case "codeInterpreter":
        return openai.tools.codeInterpreter();
      case "fileSearch":
        return openai.tools.fileSearch({ vectorStoreIds: ["vs_recorded"] });
      case "generateImage":
        return openai.tools.imageGeneration();
      case "MCP":
        return openai.tools.mcp({ serverLabel: "recorded", serverUrl: "https://mcp.invalid" });
      case "programmatic_tool_calling":
        return openai.tools.programmaticToolCalling();
      case "shell":
        return recordedWith("local-shell")
          ? openai.tools.localShell({ execute: () => ({ output: "done" }) })
          : openai.tools.shell({ execute: () => ({ output: [shellOutput] }) });
      case "toolSearch":
        return recordedWith("client-tool-search")
          ? openai.tools.toolSearch({ execution: "client", execute: () => ({ tools: [] }) })
          : openai.tools.toolSearch();
      case "webSearch":
        return openai.tools.webSearch();
      case "write_sql":
        return openai.tools.customTool({ execute: () => "done" });
    }
  }
  return undefined;
}

const shellOutput = {
  stdout: "done\n",
  stderr: "",
  outcome: { type: "exit", exitCode: 0 },
} as const;
