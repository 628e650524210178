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

conforms([...plainCases, ...toolCases]);
