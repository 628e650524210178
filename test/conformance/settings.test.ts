/** Each setting that an agent takes has the AI SDK's meaning. */

import { tool } from "ai";
import { z } from "zod";
import { call, calling } from "../support/script.ts";
import { conforms, type ConformanceCase } from "./conformance.ts";

const weather = tool({
  description: "Tells the weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}.`,
});
const clock = tool({ inputSchema: z.object({}), execute: () => ({ hour: 12 }) });
const tools = { weather, clock };

const asks = calling(call("weather", "c1", { city: "Rome" }));
const script = [asks, "Sunny."];

const plainCases: readonly ConformanceCase[] = [
  { name: "an agent without tools", make: () => ({ script: ["Fine."], settings: {} }) },
  { name: "an agent with tools", make: () => ({ script, settings: { tools } }) },
  {
    name: "instructions as text",
    make: () => ({ script, settings: { tools, instructions: "Be brief." } }),
  },
  {
    name: "instructions as messages with options",
    make: () => ({
      script,
      settings: {
        tools,
        instructions: [
          { role: "system", content: "Be brief." },
          { role: "system", content: "Be kind.", providerOptions: { p: { cache: true } } },
        ],
      },
    }),
  },
  {
    name: "all call settings",
    make: () => ({
      script,
      settings: {
        tools,
        maxOutputTokens: 100,
        temperature: 0.5,
        topP: 0.9,
        topK: 3,
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        stopSequences: ["END"],
        seed: 7,
        reasoning: "low",
      },
    }),
  },
  {
    name: "headers and provider options",
    make: () => ({
      script,
      settings: { tools, headers: { "x-team": "ours" }, providerOptions: { p: { user: "u" } } },
    }),
  },
];

const toolCases: readonly ConformanceCase[] = [
  ...(["auto", "none", "required"] as const).map((toolChoice) => ({
    name: `toolChoice ${toolChoice}`,
    make: () => ({ script, settings: { tools, toolChoice } }),
  })),
  {
    name: "toolChoice of one tool",
    make: () => ({
      script,
      settings: { tools, toolChoice: { type: "tool" as const, toolName: "weather" } },
    }),
  },
  {
    name: "activeTools",
    make: () => ({ script, settings: { tools, activeTools: ["weather"] } }),
  },
  {
    name: "a call of a tool that is not active",
    make: () => ({ script, settings: { tools, activeTools: ["clock"] } }),
    differs: { calls: "The result has the error's message, without its name before it." },
  },
  {
    name: "no active tools",
    make: () => ({ script: ["Fine."], settings: { tools, activeTools: [] } }),
  },
  {
    name: "toolOrder, of some tools",
    make: () => ({
      script,
      settings: { tools: { ...tools, apple: clock }, toolOrder: ["weather"] },
    }),
  },
  {
    name: "toolOrder and activeTools",
    make: () => ({
      script,
      settings: {
        tools: { ...tools, apple: clock },
        toolOrder: ["weather", "clock"],
        activeTools: ["apple", "weather"],
      },
    }),
  },
  {
    name: "one call at a time",
    make: (heard) => {
      const slow = tool({
        inputSchema: z.object({}),
        execute: async (_, { toolCallId }) => {
          heard.push(`${toolCallId} begins`);
          await Promise.resolve();
          heard.push(`${toolCallId} ends`);
          return toolCallId;
        },
      });
      const calls = calling(call("slow", "1"), call("slow", "2"), call("slow", "3"));
      return {
        script: [calls, "Done."],
        settings: { tools: { slow }, toolCallConcurrency: 1 },
      };
    },
  },
  {
    name: "experimental_refineToolInput",
    make: () => ({
      script,
      settings: {
        tools,
        experimental_refineToolInput: {
          weather: ({ city }: { city: string }) => ({ city: city.toUpperCase() }),
        },
      },
    }),
  },
  {
    name: "repairToolCall",
    make: (heard) => ({
      script: [calling(call("wether", "c1", { city: "Rome" })), "Sunny."],
      settings: {
        tools,
        repairToolCall: async ({ toolCall }) => {
          heard.push(toolCall);
          return await Promise.resolve({ ...toolCall, toolName: "weather" });
        },
      },
    }),
  },
];

const approving = (
  name: string,
  toolApproval: NonNullable<ReturnType<ConformanceCase["make"]>["settings"]["toolApproval"]>,
  rest: Partial<ConformanceCase> = {},
): ConformanceCase => ({
  name,
  make: () => ({ script, settings: { tools, toolApproval } }),
  ...rest,
});

const approved = {
  answer: { approved: true },
  differs: {
    executions: "The messages of the tool are those before its call, also after an approval.",
  },
};
const refused = { answer: { approved: false, reason: "not today" } };

const approvalCases: readonly ConformanceCase[] = [
  approving("toolApproval by a map: asked", { weather: "user-approval" }),
  approving("toolApproval by a map: approved by a person", { weather: "user-approval" }, approved),
  approving("toolApproval by a map: denied by a person", { weather: "user-approval" }, refused),
  approving("toolApproval by a map: approved", { weather: "approved" }),
  approving("toolApproval by a map: denied", { weather: "denied" }),
  approving("toolApproval by a map: denied with a reason", {
    weather: { type: "denied", reason: "no weather today" },
  }),
  approving("toolApproval by a map: asked with a reason", {
    weather: { type: "user-approval", reason: "it costs" },
  }),
  approving("toolApproval by a map: not applicable", { weather: "not-applicable" }),
  approving("toolApproval of another tool", { clock: "denied" }),
  approving(
    "toolApproval by a function of one tool",
    { weather: ({ city }: { city: string }) => (city === "Rome" ? "user-approval" : undefined) },
    approved,
  ),
  approving("toolApproval by a function of one tool that says nothing", {
    weather: async () => await Promise.resolve(undefined),
  }),
  approving(
    "toolApproval by one function: asked",
    ({ toolCall }) => (toolCall.toolName === "weather" ? "user-approval" : undefined),
    approved,
  ),
  approving(
    "toolApproval by one function: denied",
    async () => await Promise.resolve({ type: "denied" as const, reason: "never" }),
  ),
  {
    name: "toolApproval by one function: what it gets",
    make: (heard) => ({
      script,
      settings: {
        tools,
        runtimeContext: { user: "ann" },
        toolApproval: ({ toolCall, messages, runtimeContext, toolsContext, tools: known }) => {
          heard.push({
            toolCall,
            messages,
            runtimeContext,
            toolsContext,
            known: Object.keys(known ?? {}),
          });
          return undefined;
        },
      },
    }),
  },
  {
    name: "a tool's own needsApproval",
    make: () => ({
      script,
      // oxlint-disable-next-line typescript/no-deprecated -- tools that have it still come
      settings: { tools: { weather: { ...weather, needsApproval: true } } },
    }),
    ...approved,
  },
  {
    name: "a rule replaces a tool's own needsApproval",
    make: () => ({
      script,
      settings: {
        // oxlint-disable-next-line typescript/no-deprecated -- as above
        tools: { weather: { ...weather, needsApproval: true } },
        toolApproval: { weather: "approved" },
      },
    }),
  },
];

const contextual = tool({
  inputSchema: z.object({}),
  contextSchema: z.object({ account: z.string().toUpperCase() }),
  description: ({ context }) => `Balance of ${context.account}`,
  execute: (_, { context }) => context.account,
});
const asksBalance = [calling(call("balance", "b1")), "Seven."];

const contextCases: readonly ConformanceCase[] = [
  {
    name: "toolsContext, parsed by the tool's schema",
    make: () => ({
      script: asksBalance,
      settings: { tools: { balance: contextual }, toolsContext: { balance: { account: "ann" } } },
    }),
  },
  {
    name: "runtimeContext and toolsContext in a rule of one tool",
    make: (heard) => ({
      script: asksBalance,
      settings: {
        tools: { balance: contextual },
        runtimeContext: { user: "ann" },
        toolsContext: { balance: { account: "ann" } },
        toolApproval: {
          balance: (input: unknown, options: { toolContext: unknown; runtimeContext: unknown }) => {
            heard.push(input, options.toolContext, options.runtimeContext);
            return "approved" as const;
          },
        },
      },
    }),
  },
];

const failing = tool({
  inputSchema: z.object({}),
  execute: (): string => {
    throw new Error("the well is dry");
  },
});
const asksFailing = [calling(call("failing", "f1")), "A pity."];

const failureCases: readonly ConformanceCase[] = [
  {
    name: "a tool that throws",
    make: () => ({ script: asksFailing, settings: { tools: { failing } } }),
    differs: { calls: "The result has the error's message, without its name before it." },
  },
  {
    name: "a provider that fails, without retries",
    make: () => ({ script: [{ failure: new Error("down") }], settings: { maxRetries: 0 } }),
  },
  {
    name: "a refinement that throws",
    make: () => ({
      script,
      settings: {
        tools,
        experimental_refineToolInput: {
          weather: () => {
            throw new Error("no");
          },
        },
      },
    }),
    differs: { calls: "The result has the error's message, without its name before it." },
  },
  {
    name: "toolApproval with activeTools and one call at a time",
    make: () => ({
      script: [
        calling(call("weather", "1", { city: "Rome" }), call("weather", "2", { city: "Ulm" })),
        "Sunny.",
      ],
      settings: {
        tools,
        activeTools: ["weather"],
        toolCallConcurrency: 1,
        toolApproval: {
          weather: ({ city }: { city: string }) => (city === "Ulm" ? "denied" : undefined),
        },
      },
    }),
  },
];

conforms([...plainCases, ...toolCases, ...approvalCases, ...contextCases, ...failureCases]);
