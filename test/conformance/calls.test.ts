/** `prepareCall` makes the settings of a call from its options as in the AI SDK. */

import { tool, type ToolSet } from "ai";
import { z } from "zod";
import type { Script } from "../../src/models/index.ts";
import type { Agent } from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";
import { conforms, type ConformanceCase } from "./conformance.ts";

type PrepareCall = NonNullable<Agent["prepareCall"]>;

type Given = Omit<ReturnType<ConformanceCase["make"]>["settings"], "prepareCall"> & {
  readonly options?: unknown;
};

const place = z.object({ country: z.string() });
const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  contextSchema: place,
  execute: ({ city }, { context }) => `Sunny in ${city}, ${context.country}.`,
});
const described: ToolSet[string] = Object.assign({}, weather, { description: "Tells it." });
const clock = tool({ inputSchema: z.object({}), execute: () => ({ hour: 12 }) });
const tools: ToolSet = { weather, clock };
const script: Script = [calling(call("weather", "c1", { city: "Rome" })), "Sunny."];
const toolsContext = { weather: { country: "Italy" } };
const callOptionsSchema = z.object({ topic: z.string(), words: z.number().default(5) });

function preparing(
  name: string,
  prepareCall: PrepareCall,
  { options, ...given }: Omit<Given, "tools"> = {},
): ConformanceCase {
  return {
    name,
    options,
    make: (heard) => {
      const kept: PrepareCall = (asked) => {
        const { options: own, instructions, messages, temperature, activeTools } = asked;
        const { runtimeContext, maxRetries } = asked;
        heard.push({ own, instructions, messages, temperature, activeTools });
        // The SDK gives none where turnlog gives an empty one.
        heard.push({
          runtimeContext: runtimeContext ?? {},
          maxRetries,
          tools: Object.keys(asked.tools ?? {}),
        });
        return prepareCall(asked);
      };
      const settings = { tools, toolsContext, temperature: 1, maxRetries: 0, ...given };
      return { script, settings: { ...settings, prepareCall: kept } };
    },
  };
}

const topic = { topic: "the sky" };

conforms([
  preparing("prepareCall that changes nothing", ({ options: _, ...settings }) => settings),
  preparing(
    "prepareCall that makes instructions of the options, which have a schema",
    ({ options, ...settings }) => {
      const { topic: about, words } = callOptionsSchema.parse(options);
      return { ...settings, instructions: `Say ${words} words about ${about}.` };
    },
    { options: topic, callOptionsSchema, instructions: "Be kind." },
  ),
  preparing(
    "prepareCall with options without a schema",
    ({ options, ...settings }) => ({ ...settings, instructions: JSON.stringify(options) }),
    { options: topic },
  ),
  preparing(
    "prepareCall that leaves settings out",
    ({ model, tools: own, messages, toolsContext: context, stopWhen }) =>
      ({ model, tools: own, messages, toolsContext: context, stopWhen, seed: 1 }) as never,
    { instructions: "Be kind.", topP: 0.5, headers: { a: "b" } },
  ),
  {
    ...preparing(
      "prepareCall that leaves stopWhen out",
      ({ options: _, stopWhen: __, ...settings }) => settings,
    ),
    differs: {
      calls: "A turn has at most 20 steps then, as an agent has, and not one, as `streamText` has.",
      finishReasons: "As the calls.",
      text: "As the calls.",
    },
  },
  preparing("prepareCall that changes call settings", ({ options: _, ...settings }) => ({
    ...settings,
    temperature: 0,
    seed: 3,
    stopSequences: ["END"],
    providerOptions: { p: { effort: "low" } },
  })),
  preparing("prepareCall that chooses tools", ({ options: _, ...settings }) => ({
    ...settings,
    activeTools: ["weather"],
    toolChoice: "required",
  })),
  preparing("prepareCall that changes the tools", ({ options: _, ...settings }) => ({
    ...settings,
    tools: { weather: described },
  })),
  preparing(
    "prepareCall that changes the contexts",
    ({ options, runtimeContext, ...settings }) => ({
      ...settings,
      runtimeContext: { ...runtimeContext, asked: options },
      toolsContext: { weather: { country: "Norway" } },
    }),
    { options: topic, runtimeContext: { user: "ann" } },
  ),
  preparing("prepareCall that changes the messages", ({ options: _, messages, ...settings }) => ({
    ...settings,
    messages: [...(messages ?? []), { role: "user", content: "Be quick." }],
  })),
  preparing(
    "prepareCall with a step that is prepared, too",
    ({ options: _, ...settings }) => ({ ...settings, instructions: "Be brief.", seed: 1 }),
    { prepareStep: ({ stepNumber }) => (stepNumber === 1 ? { seed: 2 } : { topK: 7 }) },
  ),
  preparing("prepareCall that answers later", async ({ options: _, ...settings }) => {
    await Promise.resolve();
    return { ...settings, seed: 4 };
  }),
]);
