/** docs/agent-settings.md has each setting of the installed AI SDK: as one that works, or refused with its sentence. */

import { readFile } from "node:fs/promises";
import * as sdk from "ai";
import { tool, ToolLoopAgent, type ToolLoopAgentSettings, type ToolSet } from "ai";
import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { sdkSettings } from "../../src/agent/call-settings.ts";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

/** Does not compile when the SDK has another setting. */
const settings: Readonly<Record<keyof ToolLoopAgentSettings<never, ToolSet>, true>> = {
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
  maxRetries: true,
  headers: true,
  timeout: true,
  tools: true,
  toolsContext: true,
  id: true,
  instructions: true,
  allowSystemInMessages: true,
  model: true,
  toolChoice: true,
  stopWhen: true,
  telemetry: true,
  experimental_telemetry: true,
  activeTools: true,
  toolOrder: true,
  toolCallConcurrency: true,
  output: true,
  runtimeContext: true,
  toolApproval: true,
  experimental_toolCallers: true,
  experimental_toolApprovalSecret: true,
  prepareStep: true,
  repairToolCall: true,
  experimental_repairToolCall: true,
  experimental_refineToolInput: true,
  onStart: true,
  experimental_onStart: true,
  onStepStart: true,
  experimental_onStepStart: true,
  onLanguageModelCallStart: true,
  onLanguageModelCallEnd: true,
  onToolExecutionStart: true,
  onToolExecutionEnd: true,
  onStepEnd: true,
  onStepError: true,
  onError: true,
  onAbort: true,
  onStepFinish: true,
  onEnd: true,
  onFinish: true,
  providerOptions: true,
  experimental_download: true,
  include: true,
  _internal: true,
  callOptionsSchema: true,
  prepareCall: true,
};

const page = await readFile(new URL("../../docs/agent-settings.md", import.meta.url), "utf8");

/** The rows of the table below a heading. */
function rows(heading: string): readonly (readonly [setting: string, text: string])[] {
  const [, rest = ""] = page.split(`## ${heading}\n`);
  const [section = ""] = rest.split("\n## ");
  return [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name = "", text = ""]) => [
    name,
    text,
  ]);
}

it("the page has each setting of the AI SDK in one of its tables", () => {
  const works = rows("What works").map(([name]) => name);
  const refused = rows("What is refused").map(([name]) => name);
  expect([...works, ...refused].toSorted()).toEqual(Object.keys(settings).toSorted());
});

type KeyOf<Union> = Union extends unknown ? keyof Union : never;

/** Does not compile when a tool of the SDK has another setting. */
const toolSettings: Readonly<Record<KeyOf<ToolSet[string]>, true>> = {
  type: true,
  id: true,
  args: true,
  isProviderExecuted: true,
  supportsDeferredResults: true,
  title: true,
  description: true,
  inputSchema: true,
  inputExamples: true,
  outputSchema: true,
  contextSchema: true,
  strict: true,
  providerOptions: true,
  metadata: true,
  needsApproval: true,
  execute: true,
  toModelOutput: true,
  onInputStart: true,
  onInputDelta: true,
  onInputAvailable: true,
  deferLoading: true,
};

it("the page has each setting of a tool of the AI SDK", () => {
  const names = rows("The settings of a tool").map(([name]) => name);
  expect(names.toSorted()).toEqual(Object.keys(toolSettings).toSorted());
});

/** Every function of the SDK with `tool` in its name. One that is new must be sorted here, and be on the page if it marks. */
const functions: Readonly<Record<string, "marks a tool" | "makes a plain tool" | "reads">> = {
  ToolLoopAgent: "reads",
  addToolInputExamplesMiddleware: "reads",
  detectToolDrift: "reads",
  dynamicTool: "makes a plain tool",
  experimental_filterActiveTools: "reads",
  experimental_getRealtimeToolDefinitions: "reads",
  experimental_toolCaller: "marks a tool",
  filterActiveTools: "reads",
  fingerprintTools: "reads",
  getStaticToolName: "reads",
  getToolName: "reads",
  getToolOrDynamicToolName: "reads",
  getToolTimeoutMs: "reads",
  hasToolCall: "reads",
  isDynamicToolUIPart: "reads",
  isStaticToolUIPart: "reads",
  isToolOutputErrorUIPart: "reads",
  isToolUIPart: "reads",
  lastAssistantMessageIsCompleteWithToolCalls: "reads",
  tool: "makes a plain tool",
  toolSearch: "marks a tool",
};

it("the page has each function by which the AI SDK marks a tool", () => {
  const found = Object.entries(sdk).filter(
    ([name, value]) => /tool/i.test(name) && !name.endsWith("Error") && typeof value === "function",
  );
  expect(found.map(([name]) => name).toSorted()).toEqual(Object.keys(functions).toSorted());
  const marking = Object.keys(functions).filter((name) => functions[name] === "marks a tool");
  expect(marking.filter((name) => !page.includes(`| \`${name}()\` |`))).toEqual([]);
});

it("a tool that calls others by code is refused", async () => {
  const plain = tool({ inputSchema: z.object({}), execute: () => "done" });
  const code = sdk.experimental_toolCaller(plain, { type: "local", bind: () => plain });
  const agent: Agent = { model: scriptedModel([]), tools: { code } };
  await expect(createRuntime({ memory: true, agent })).rejects.toThrow("called by the model");
});

it("a refused setting is refused with the sentence of the page", async () => {
  expect(Object.fromEntries(rows("What is refused"))).toEqual(sdkSettings);
  for (const [name, text] of rows("What is refused")) {
    const agent = { model: scriptedModel([]), [name]: {} } as unknown as Agent;
    await expect(createRuntime({ memory: true, agent })).rejects.toThrow(text);
  }
});

it("a setting that only `streamText` has is refused with what takes its place", async () => {
  const settings = { system: "instructions", messages: "importMessages", prompt: "session.send" };
  for (const [name, text] of Object.entries({ ...settings, abortSignal: "session.cancel()" })) {
    const agent = { model: scriptedModel([]), [name]: "a" } as unknown as Agent;
    const refused = createRuntime({ memory: true, agent }).catch((error: unknown) => String(error));
    expect(await refused).toMatch(`\`agent.${name}\` is not supported: `);
    expect(await refused).toContain(text);
  }
});

it("a setting that works is known", async () => {
  for (const [name] of rows("What works")) {
    // What is undefined counts as left out, so that a wrong value tells whether the name is known.
    const agent = { model: scriptedModel([]), [name]: Symbol("wrong") } as unknown as Agent;
    const opening = createRuntime({ memory: true, agent });
    const refused = await opening.then(
      async (runtime) => {
        await runtime.close();
        return "";
      },
      (error: unknown) => String(error),
    );
    expect(refused, name).not.toMatch(/is unknown|is not supported/);
  }
});

it("takes an object that `satisfies` the SDK's type, and the types refuse one that sets what is refused", async () => {
  const shared = { model: scriptedModel([]), temperature: 0 } satisfies ToolLoopAgentSettings<
    never,
    ToolSet
  >;
  const refused = { ...shared, include: { requestBody: true } } satisfies ToolLoopAgentSettings<
    never,
    ToolSet
  >;
  const annotated: ToolLoopAgentSettings<never, ToolSet> = shared;
  expectTypeOf(shared).toExtend<Agent>();
  expectTypeOf(refused).not.toExtend<Agent>();
  expectTypeOf(annotated).not.toExtend<Agent>();
  expect(new ToolLoopAgent(shared)).toBeDefined();
  await using _ = await createRuntime({ memory: true, agent: shared });
});
