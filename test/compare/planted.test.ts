/**
 * Planted changes of what an agent does or says: each is found by a comparison at its step, in words that name it.
 * Harmless ones are no difference. The sentences for changes of the agent itself are tested in `pairing.test.ts`.
 */

import { APICallError, stepCountIs, tool, type ToolSet } from "ai";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { compare, type CompareOptions } from "../../src/compare/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import {
  createRuntime,
  dropOldest,
  openMemoryLog,
  tokens,
  type Agent,
} from "../../src/public/index.ts";
import { call, calling, saying } from "../support/script.ts";

type Step = ScriptedStep | string;

const order = z.object({ order: z.number() });
const lookup = tool({
  description: "Looks an order up.",
  inputSchema: order,
  execute: async ({ order: number }) => ({ order: number, paid: true }),
});
const refund = tool({
  description: "Pays an order back.",
  inputSchema: order,
  execute: async ({ order: number }) => `paid back ${number}`,
});
const tools: ToolSet = { lookup, refund };

/** Two turns: the steps 1 to 3, and 4 and 5. */
const steps: readonly Step[] = [
  calling(
    { type: "text", deltas: ["Let me see."] },
    call("lookup", "a", { order: 17 }),
    call("lookup", "b", { order: 18 }),
  ),
  calling(call("refund", "c", { order: 17 })),
  "Paid back.",
  calling(call("lookup", "d", { order: 19 })),
  "It is paid.",
];

const instructions = "You help.\nYou are brief.";
const agentOf = (given: readonly Step[] = steps): Agent => ({
  model: scriptedModel([...given]),
  instructions,
  tools,
  temperature: 0.2,
  maxRetries: 0,
});

/** The steps with another one at a place, from 1. */
const at = (step: number, ...other: readonly Step[]): Agent =>
  agentOf([...steps.slice(0, step - 1), ...other, ...steps.slice(step)]);
const withTools = (more: ToolSet): Partial<Agent> => ({ tools: { ...tools, ...more } });

let recording: readonly SessionEvent[] = [];

beforeAll(async () => {
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent: agentOf() });
  const session = await runtime.session("s");
  for (const text of ["Pay order 17 back.", "And 19?"]) await (await session.send(text)).result;
  recording = await Array.fromAsync(log.read("s"));
});

type Changed = Partial<Agent> | (() => Agent);

async function tried(changed: Changed, options: Partial<CompareOptions> = {}) {
  const made = (): Agent =>
    typeof changed === "function" ? changed() : { ...agentOf(), ...changed };
  const source = [{ session: "s", events: recording }];
  const { sessions } = await compare(source, { agent: made(), ...options });
  const [found] = sessions;
  if (found === undefined) throw new Error("Nothing was compared.");
  const said = found.turns.flatMap(({ differences, steps: rows }) =>
    [...differences, ...rows.flatMap((row) => row.differences)].map(({ sentence }) => sentence),
  );
  return {
    ...found,
    said: [...said, found.stopped && `Step ${found.stopped.step}: ${found.stopped.why}`].join("\n"),
  };
}

const failure = new APICallError({
  message: "The account has no credit",
  statusCode: 402,
  url: "https://provider.invalid",
  requestBodyValues: {},
});

describe("a planted change", () => {
  it.each<[string, Changed, RegExp, Partial<CompareOptions>?]>([
    [
      "more instructions",
      { instructions: `${instructions}\nYou ask back.` },
      /instructions.*You ask back/s,
    ],
    ["no instructions", { instructions: "" }, /instructions/],
    [
      "a schema that refuses the recorded input",
      withTools({ lookup: { ...lookup, inputSchema: z.object({ order: z.string() }) } }),
      /lookup/,
    ],
    ["a tool that is gone", { tools: { lookup } }, /refund/],
    ["the choice of tools", { toolChoice: "required" }, /toolChoice|choice/],
    ["what ends a reply", { stopSequences: ["END"] }, /stopSequences/],
    [
      "options of the provider",
      { providerOptions: { openai: { reasoningEffort: "low" } } },
      /reasoningEffort/,
    ],
    ["a condition that stops", { stopWhen: stepCountIs(1) }, /Turn 1.*(stop|limit)/s],
    [
      "instructions of a step",
      { prepareStep: ({ stepNumber }) => (stepNumber === 1 ? { instructions: "Now pay." } : {}) },
      /step 2.*instructions|instructions.*Now pay/is,
    ],
    [
      "a choice in one step",
      { prepareStep: ({ stepNumber }) => (stepNumber === 2 ? { toolChoice: "none" } : {}) },
      /step 3|toolChoice/i,
    ],
    [
      "the tools of a step",
      { prepareStep: ({ stepNumber }) => (stepNumber === 1 ? { activeTools: ["refund"] } : {}) },
      /lookup/,
    ],
    [
      "an approval that is asked for",
      { toolApproval: { refund: "user-approval" } },
      /refund waits for an answer/,
    ],
    [
      "what a model is told of an output",
      withTools({
        lookup: { ...lookup, toModelOutput: () => ({ type: "text", value: "paid" }) } as never,
      }),
      /lookup|message|result/,
    ],
    [
      "what a model is shown of the past",
      { context: { prune: { keepTurns: 0, minTokens: 1 } } as never },
      /./,
    ],
    [
      "a compaction",
      { context: { compact: { when: tokens(20), how: dropOldest({ keepTurns: 1 }) } } },
      /message|prompt/i,
    ],
    ["one call of two", () => at(1, calling(call("lookup", "a", { order: 17 }))), /Step 1.*lookup/],
    [
      "a call twice",
      () => at(2, calling(call("refund", "c", { order: 17 }), call("refund", "e", { order: 17 }))),
      /Step 2.*refund/,
    ],
    [
      "a reply that is cut",
      () => at(3, { parts: [{ type: "text", deltas: ["Paid"] }], finishReason: "length" }),
      /Step 3.*length|Step 3/s,
    ],
    [
      "a reply that is filtered",
      () =>
        at(3, {
          parts: [{ type: "text", deltas: ["Paid back."] }],
          finishReason: "content-filter",
        }),
      /Step 3.*content-filter/s,
    ],
    ["a model that fails", () => at(3, { failure }), /no credit/],
    [
      "a stream that breaks",
      () => at(5, { parts: [{ type: "break", error: new Error("The line is dead") }] }),
      /line is dead/,
    ],
    [
      "a tool that fails",
      () => at(4, calling(call("lookup", "d", { order: 20 }))),
      /Step 4.*lookup/s,
      { onMiss: () => ({ error: "No such order." }) },
    ],
    [
      "a tool's output",
      () => at(4, calling(call("lookup", "d", { order: 20 }))),
      /Step 4.*lookup/s,
      { onMiss: { live: ["lookup"] } },
    ],
    [
      "a call of a tool that is not there",
      () => at(4, calling(call("search", "d", {}))),
      /Step 4.*search/s,
    ],
    [
      "one step more",
      () =>
        agentOf([
          ...steps.slice(0, 2),
          calling(call("lookup", "x", { order: 17 })),
          ...steps.slice(2),
        ]),
      /Step 3/,
    ],
  ])("%s is found", async (_, changed, words, options) => {
    const found = await tried(changed, options);
    expect(found.said).toMatch(words);
    expect(found.verdict).not.toBe("equal");
  });
});

describe("a harmless change", () => {
  const chunked: readonly Step[] = steps.map((step) =>
    typeof step === "string" ? saying(...step.split(/(?<= )/)) : step,
  );
  it.each<[string, Changed, Partial<CompareOptions>?]>([
    ["edited instructions", { instructions: "You help!" }, { allow: ["instructions"] }],
    ["smaller deltas", () => agentOf(chunked)],
    [
      "reasoning before a text",
      () =>
        at(5, {
          parts: [
            { type: "reasoning", deltas: ["Hm."] },
            { type: "text", deltas: ["It is paid."] },
          ],
        }),
    ],
    [
      "other ids of responses",
      () => at(3, { parts: [{ type: "text", deltas: ["Paid back."] }], responseId: "r-9" }),
    ],
    ["a callback", { onEnd: () => {} }],
    ["one call at a time", { toolCallConcurrency: 1 }],
    ["more attempts", { maxRetries: 5 }],
    ["a timeout", { timeout: { totalMs: 60_000 } }],
    ["a higher limit of steps", { maxSteps: 50 }],
    ["a condition that is not met", { stopWhen: stepCountIs(15) }],
    ["a step that is prepared as it is", { prepareStep: () => ({}) }],
    [
      "an execute that does otherwise",
      withTools({
        lookup: { ...lookup, execute: async () => ({ order: 0, paid: false }) },
      }),
    ],
  ])("%s is no difference", async (_, changed, options) => {
    const found = await tried(changed, options);
    expect(found.said).toBe("");
    expect(found.verdict).toBe("equal");
    expect(found.misses).toEqual([]);
  });
});
