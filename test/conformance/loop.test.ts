/** `stopWhen` and `prepareStep` decide about the loop as in the AI SDK. */

import {
  hasToolCall,
  isLoopFinished,
  isStepCount,
  tool,
  type ModelMessage,
  type PrepareStepFunction,
  type StepResult,
  type ToolSet,
} from "ai";
import { z } from "zod";
import { scriptedModel, type Script } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { conforms, type ConformanceCase } from "./conformance.ts";

type Steps = readonly StepResult<ToolSet>[];
type PrepareStep = PrepareStepFunction<ToolSet>;

const weather = tool({
  description: "Tells the weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}.`,
});
const clock = tool({ inputSchema: z.object({}), execute: () => ({ hour: 12 }) });
const tools = { weather, clock };

const script: Script = [
  calling(
    { type: "reasoning", deltas: ["Hm."] },
    { type: "text", deltas: ["I ", "look."] },
    call("weather", "c1", { city: "Rome" }),
  ),
  calling(call("clock", "c2")),
  calling(call("weather", "c3", { city: "Oslo" })),
  "Sunny in both.",
];

/** What a function can see of the steps that both agree on to the byte. */
function shown(steps: Steps): unknown {
  return steps.map((step) => ({
    number: step.stepNumber,
    model: step.model,
    text: step.text,
    reasoning: step.reasoningText,
    calls: step.toolCalls.map((made): unknown => [made.toolCallId, made.toolName, made.input]),
    results: step.toolResults.map((result): unknown => [result.toolCallId, result.output]),
    finishReason: step.finishReason,
    usage: step.usage.totalTokens,
    roles: step.response.messages.map(({ role }) => role),
    content: step.content.map(({ type }) => type),
  }));
}

const stopping: readonly ConformanceCase[] = [
  ...([1, 2, 4, 9] as const).map((count) => ({
    name: `stopWhen a number of steps is ${count}`,
    make: () => ({ script, settings: { tools, stopWhen: isStepCount(count) } }),
  })),
  {
    name: "stopWhen a tool is called",
    make: () => ({ script, settings: { tools, stopWhen: hasToolCall("clock") } }),
  },
  {
    name: "stopWhen the loop is finished",
    make: () => ({ script, settings: { tools, stopWhen: isLoopFinished() } }),
  },
  {
    name: "stopWhen any of several is met",
    make: () => ({
      script,
      settings: { tools, stopWhen: [isStepCount(9), hasToolCall("clock")] },
    }),
  },
  {
    name: "stopWhen with an own function that sees the steps",
    make: (heard) => ({
      script,
      settings: {
        tools,
        stopWhen: ({ steps }: { readonly steps: Steps }) => {
          heard.push(shown(steps));
          return Promise.resolve(steps.length === 3);
        },
      },
    }),
  },
];

/** An agent whose `prepareStep` is heard, and answers what a case says. */
function preparing(
  name: string,
  answer: (...given: Parameters<PrepareStep>) => ReturnType<PrepareStep>,
) {
  const make: ConformanceCase["make"] = (heard) => ({
    script,
    settings: {
      tools,
      instructions: "Be kind.",
      runtimeContext: { user: "ada" },
      prepareStep: (options) => {
        const { steps, stepNumber, messages, initialMessages, responseMessages } = options;
        const { instructions, initialInstructions, runtimeContext } = options;
        heard.push({
          steps: shown(steps),
          stepNumber,
          messages,
          initialMessages,
          responseMessages: responseMessages.map(({ role }) => role),
          instructions,
          initialInstructions,
          runtimeContext,
        });
        return answer(options);
      },
    },
  });
  return { name, make };
}

const note = (text: string): ModelMessage => ({ role: "user", content: text });
const other = { ...scriptedModel(() => "From another model."), modelId: "other" };

const prepared: readonly ConformanceCase[] = [
  preparing("prepareStep that changes nothing", () => undefined),
  preparing("prepareStep that adds a message at each step", ({ messages, stepNumber }) => ({
    messages: [...messages, note(`Step ${stepNumber}.`)],
  })),
  preparing("prepareStep that puts a message first, once", ({ messages, stepNumber }) =>
    stepNumber === 1 ? { messages: [note("Remember."), ...messages] } : {},
  ),
  preparing("prepareStep that keeps the newest messages", ({ messages, initialMessages }) => ({
    messages: messages.length > 3 ? [...initialMessages, ...messages.slice(-2)] : messages,
  })),
  preparing("prepareStep that rebuilds the messages", ({ initialMessages, responseMessages }) => ({
    messages: [...initialMessages, ...responseMessages],
  })),
  preparing("prepareStep that returns copies", ({ messages }) => ({
    messages: structuredClone(messages),
  })),
  preparing("prepareStep that marks messages for a cache", ({ messages }) => ({
    messages: messages.map((message, index) =>
      index === messages.length - 1
        ? { ...message, providerOptions: { p: { cacheControl: true } } }
        : message,
    ),
  })),
  preparing("prepareStep that changes instructions", ({ stepNumber }) =>
    stepNumber === 1 ? { instructions: "Be brief." } : {},
  ),
  preparing("prepareStep that changes instructions by the old name", ({ stepNumber }) =>
    stepNumber === 1 ? { system: "Be brief." } : {},
  ),
  preparing("prepareStep that chooses tools", ({ stepNumber }) =>
    stepNumber === 0
      ? { activeTools: ["weather", "clock"], toolOrder: ["weather"], toolChoice: "required" }
      : { toolChoice: { type: "tool", toolName: "clock" } },
  ),
  preparing("prepareStep that changes call settings", ({ stepNumber }) =>
    stepNumber === 1 ? { temperature: 0, maxOutputTokens: 50 } : { seed: 3 },
  ),
  preparing("prepareStep that changes provider options", () => ({
    providerOptions: { p: { effort: "low" } },
  })),
  preparing("prepareStep that chooses a model", ({ stepNumber }) =>
    stepNumber === 2 ? { model: other } : {},
  ),
  preparing("prepareStep that changes the context", ({ runtimeContext, stepNumber }) => ({
    runtimeContext: { ...runtimeContext, stepNumber },
  })),
  preparing("prepareStep that throws", () => {
    throw new Error("No idea.");
  }),
  preparing("prepareStep that answers later", async ({ stepNumber }) => {
    await Promise.resolve();
    return { seed: stepNumber };
  }),
];

/** A callback may change what the functions of the agent look at. */
const among: ConformanceCase = {
  name: "onStepEnd before stopWhen and prepareStep are asked",
  make: (heard) => {
    const told = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => {
        heard.push("tool");
        return `Sunny in ${city}.`;
      },
    });
    // The result of a turn does not wait for the last one.
    const onStepEnd = async ({ finishReason }: StepResult<ToolSet>): Promise<void> => {
      await new Promise(setImmediate);
      if (finishReason === "tool-calls") heard.push("ended");
    };
    const prepareStep: PrepareStep = () => {
      heard.push("prepared");
      return {};
    };
    const stopWhen = (): boolean => {
      heard.push("asked");
      return false;
    };
    const own = { ...tools, weather: told };
    return { script, settings: { tools: own, onStepEnd, prepareStep, stopWhen } };
  },
};

const begun: ConformanceCase = {
  name: "onStart before prepareStep is asked, with the settings of the agent",
  make: (heard) => ({
    script,
    settings: {
      tools,
      instructions: "Be kind.",
      onStart: async ({ instructions, messages, temperature, activeTools }) => {
        await new Promise(setImmediate);
        heard.push({ instructions, messages, temperature, activeTools });
      },
      onStepStart: ({ instructions, messages }) => void heard.push({ instructions, messages }),
      prepareStep: ({ messages, stepNumber }) => {
        heard.push("prepared");
        const changed = { instructions: "Be brief.", messages: [...messages, note("Hurry.")] };
        return {
          temperature: 0,
          activeTools: ["clock", "weather"],
          ...(stepNumber === 0 ? changed : {}),
        };
      },
    },
  }),
};

conforms([...stopping, ...prepared, among, begun]);
