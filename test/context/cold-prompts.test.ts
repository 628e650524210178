/**
 * First prompts, of which nothing is billed yet, against the bills of pydantic-ai's and ruby_llm's recordings of
 * the providers' answers.
 */

import { describe, expect, it } from "vitest";
import {
  estimateContext,
  type EstimateInput,
} from "../../src/context/estimate/context-estimate.ts";
import { modelFamily } from "../../src/context/models/model-family.ts";
import type { ModelName } from "../../src/events/index.ts";
import { Session } from "./session.ts";

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
}

const string = { type: "string" } as const;

function object(properties: Readonly<Record<string, unknown>>, more: object = closed): object {
  return { type: "object", properties, required: Object.keys(properties), ...more };
}

const closed = { additionalProperties: false };

const named = (name: string, description: string, inputSchema: object): Tool => ({
  name,
  description,
  inputSchema,
});

const empty = { type: "object", properties: {}, ...closed };
const country = named("get_user_country", "", empty);
const city = named(
  "final_result",
  "The final response which ends this conversation",
  object({ city: string, country: string }, {}),
);
const weather = named(
  "weather",
  "Gets current weather for a location",
  object(
    {
      latitude: { ...string, description: "Latitude (e.g., 52.5200)" },
      longitude: { ...string, description: "Longitude (e.g., 13.4050)" },
    },
    {},
  ),
);
const weatherIn = (description: string): Tool =>
  named("get_weather", description, object({ city: string }));
const capital = named(
  "get_capital",
  "Get the capital of a country.",
  object({ country: { ...string, description: "The country name." } }),
);
const about = named(
  "final_result",
  "Information about a city.",
  object({ city: string, summary: string }, {}),
);
const population = named(
  "get_population",
  "Get the population of a city.",
  object({ city: string }),
);

const berlin = "What's the weather in Berlin? (52.5200, 13.4050)";
const largest = "What is the largest city in the user country?";
const chicago = "Get weather and population for Chicago";

interface Cold {
  readonly model: readonly [string, string];
  readonly tools: readonly Tool[];
  readonly instructions?: string;
  readonly text: string;
  readonly mustCall?: true;
  readonly billed: number;
}

const claude = "anthropic.messages";
const google = "google.generative-ai";

const colds: readonly Cold[] = [
  {
    model: [claude, "claude-haiku-4-5"],
    tools: [weatherIn("Get the weather for a city.")],
    text: "What is 2+2?",
    billed: 571,
  },
  {
    model: [claude, "claude-sonnet-4-5"],
    tools: [country, city],
    text: largest,
    mustCall: true,
    billed: 711,
  },
  {
    model: [claude, "claude-sonnet-4-20250514"],
    tools: [weatherIn("Get the current weather for a city."), about],
    text: "Get weather for Miami and describe it",
    billed: 454,
  },
  {
    model: [claude, "claude-sonnet-4-20250514"],
    tools: [weatherIn("Get the current weather for a city."), population, about],
    text: chicago,
    mustCall: true,
    billed: 516,
  },
  {
    model: ["openrouter", "anthropic/claude-haiku-4.5"],
    tools: [weather],
    text: berlin,
    billed: 633,
  },
  {
    model: [claude, "claude-sonnet-5-5"],
    tools: [
      named(
        "final_result",
        "Information about a city.",
        object({ city: string, country: string, population: { type: "integer" } }, {}),
      ),
    ],
    text: "Give me information about Tokyo",
    billed: 402,
  },
  { model: ["openai.chat", "gpt-4o"], tools: [country, city], text: largest, billed: 68 },
  { model: ["openai.chat", "gpt-4.1-nano"], tools: [weather], text: berlin, billed: 88 },
  {
    model: ["openai.chat", "gpt-4.1-mini"],
    tools: [named("get_temperature", "", object({ city: string }))],
    instructions: "You are a helpful assistant.",
    text: "What is the temperature in Tokyo?",
    billed: 50,
  },
  {
    model: ["openai.responses", "gpt-4o"],
    tools: [weatherIn("Get current weather for a city.")],
    text: "What is the weather in Paris? Use the get_weather tool.",
    billed: 51,
  },
  { model: ["openai.chat", "gpt-5-nano"], tools: [weather], text: berlin, billed: 169 },
  { model: [google, "gemini-2.5-flash"], tools: [weather], text: berlin, billed: 103 },
  {
    model: [google, "gemini-2.5-flash"],
    tools: [
      weatherIn("Get the current weather for a city."),
      named("get_time", "Get the current time in a timezone.", object({ timezone: string })),
      population,
      about,
    ],
    text: chicago,
    billed: 174,
  },
  {
    model: [google, "gemini-2.5-flash"],
    tools: [weatherIn("Get the weather for a city.")],
    text: "What is 2+2?",
    billed: 47,
  },
  {
    model: [google, "gemini-2.5-pro"],
    tools: [capital],
    instructions: "You are a helpful chatbot.",
    text: "What is the capital of France?",
    billed: 57,
  },
  { model: ["xai.chat", "grok-3-mini"], tools: [weather], text: berlin, billed: 324 },
  {
    model: ["xai.chat", "grok-4-fast-reasoning"],
    tools: [named("get_location", "", object({ loc_name: string }))],
    text: "What is the location of Lodon and London?",
    billed: 351,
  },
  {
    model: ["xai.chat", "grok-4-fast-non-reasoning"],
    tools: [country, city],
    instructions: "Call `get_user_country` first, then call `final_result` with the JSON result.",
    text: largest,
    billed: 420,
  },
  {
    model: ["xai.chat", "grok-4-fast-non-reasoning"],
    tools: [],
    instructions: "You are a helpful assistant.",
    text: "What is the capital of France?",
    billed: 181,
  },
  {
    model: ["xai.chat", "grok-4.3"],
    tools: [weatherIn("")],
    text: "What is the weather in London? Use the get_weather tool, then answer.",
    billed: 221,
  },
  {
    model: ["deepseek.chat", "deepseek-chat"],
    tools: [named("best_language_to_learn", "Gets the best language to learn", object({}))],
    text: "What's the best language to learn?",
    billed: 309,
  },
  { model: ["mistral.chat", "mistral-small-latest"], tools: [weather], text: berlin, billed: 147 },
  {
    model: ["zai.chat", "glm-4.7"],
    tools: [],
    text: "What is 17 * 19? Think it through.",
    billed: 17,
  },
];

function estimateOf(
  { model: [provider, modelId], tools, instructions = "", text, mustCall }: Cold,
  more: Partial<EstimateInput> = {},
): number {
  const session = new Session();
  session.ask(text);
  const { history, view, usage, calibration } = session;
  const model: ModelName = { provider, modelId };
  const json = tools.length === 0 ? "" : JSON.stringify(tools);
  const texts = { instructions, tools: json, mustCall: mustCall === true };
  return estimateContext({ model, ...texts, history, view, usage, calibration, ...more }).tokens;
}

describe("the estimate of a first prompt", () => {
  it.each(colds.map((cold) => [cold.model[1], cold.billed, cold] as const))(
    "of %s, billed %d tokens, is right to five percent or six tokens",
    (_, billed, cold) => {
      expect(Math.abs(estimateOf(cold) - billed)).toBeLessThanOrEqual(Math.max(6, billed / 20));
    },
  );

  it("has what the provider adds only where there are tools", () => {
    for (const cold of colds.filter(({ tools }) => tools.length > 0)) {
      const [provider, modelId] = cold.model;
      const { preamble, forced = preamble } = modelFamily({ provider, modelId }).tools;
      const none = estimateOf({ ...cold, tools: [] });
      const added = estimateOf(cold) - none;
      expect(added).toBeGreaterThan(cold.mustCall === true ? forced : preamble);
      expect(estimateOf(cold, { tools: "", standing: 0 })).toBeLessThanOrEqual(none);
    }
  });
});
