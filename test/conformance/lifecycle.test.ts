// An agent's lifecycle callbacks hear in turnlog what they hear in `ToolLoopAgent`: the same events in
// the same order, with both step sources.
import { Output, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ScriptedStep } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import {
  heardBySdk,
  heardByTurnlog,
  type Heard,
  type LifecycleCase,
  type StepSourceName,
} from "./lifecycle-run.ts";

const sources: readonly StepSourceName[] = ["language-model-call", "stream-text"];

const add = tool({
  inputSchema: z.object({ x: z.number(), by: z.number().default(1) }),
  execute: ({ x, by }) => ({ sum: x + by }),
});
const zone = tool({
  inputSchema: z.object({ at: z.number() }),
  contextSchema: z.object({ name: z.string() }),
  execute: ({ at }, { context }) => new Date(at + context.name.length),
});
const anything = z.object({ x: z.number().optional() });
const broken = tool({
  inputSchema: anything,
  execute: ({ x }): string => {
    throw new TypeError(`Broken${x ?? "."}`);
  },
});
const careful = tool({
  inputSchema: anything,
  // oxlint-disable-next-line typescript/no-deprecated
  needsApproval: true,
  execute: () => "done",
});

const says = (text: string) => ({ type: "text", deltas: [text] }) as const;
const asks: ScriptedStep = calling(says("Well. "), call("add", "c1", { x: 1 }));
const refuses: ScriptedStep = { failure: new Error("No.") };

const cases: Readonly<Record<string, LifecycleCase>> = {
  "a reply": { script: ["Hello."], settings: { instructions: "Be brief." } },
  "an empty delta": { script: [saying("", "Hello.")] },
  reasoning: { script: [calling({ type: "reasoning", deltas: ["Hm."] }, says("Yes."))] },
  "call settings": {
    script: ["Hello."],
    settings: { headers: { "x-one": "1" }, providerOptions: { own: { two: 2 } } },
  },
  "a structured output": {
    script: ['{"city":"Ulm"}'],
    settings: { output: Output.object({ schema: z.object({ city: z.string() }) }) },
  },
  "an output that does not fit": {
    script: ['{"town":"Ulm"}'],
    settings: { output: Output.object({ schema: z.object({ city: z.string() }) }) },
  },
  "one tool": { script: [asks, "Done."], settings: { tools: { add } } },
  "two tools at once": {
    script: [calling(call("add", "c1", { x: 1 }), call("add", "c2", { x: 2 })), "Done."],
    settings: { tools: { add } },
  },
  "three steps": {
    script: [asks, calling(call("add", "c2", { x: 2 })), "Done."],
    settings: { tools: { add } },
  },
  contexts: {
    script: [calling(call("zone", "c1", { at: 1 })), "Done."],
    settings: {
      tools: { zone },
      runtimeContext: { user: "u" },
      toolsContext: { zone: { name: "utc" } },
    },
  },
  "a failing tool": {
    script: [calling(call("broken", "c1")), "Done."],
    settings: { tools: { broken } },
  },
  "an invalid input": {
    script: [calling(call("add", "c1", { x: "one" })), "Done."],
    settings: { tools: { add } },
  },
  "an unknown tool": {
    script: [calling(call("none", "c1")), "Done."],
    settings: { tools: { add } },
  },
  "an approval": { script: [calling(call("careful", "c1"))], settings: { tools: { careful } } },
  "an approval beside a tool": {
    script: [calling(call("careful", "c1"), call("add", "c2", { x: 1 }))],
    settings: { tools: { careful, add } },
  },
  "a refused first step": { script: [refuses] },
  "a refused later step": { script: [asks, refuses], settings: { tools: { add } } },
  "a stream that breaks": {
    script: [calling(says("Well. "), { type: "break", error: new Error("Cut.") })],
  },
  "callbacks that throw": {
    script: [asks, "Done."],
    settings: { tools: { add } },
    act: () => {
      throw new Error("Boom.");
    },
  },
  "callbacks that reject": {
    script: [asks, "Done."],
    settings: { tools: { add } },
    act: () => Promise.reject(new Error("Boom.")),
  },
  "callbacks that take their time": {
    script: [asks, "Done."],
    settings: { tools: { add } },
    act: async () => {
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    },
  },
};

describe.each(sources)("%s", (source) => {
  it.each(Object.entries(cases))("%s: the same callbacks hear the same", async (_, one) => {
    const [sdk, turnlog] = [await heardBySdk(one), await heardByTurnlog(one, source)];
    expect(namesOf(turnlog)).toEqual(namesOf(sdk));
    for (const [index, [name, event]] of sdk.entries()) {
      expect(comparable(turnlog[index]?.[1]), `${index} ${name}`).toEqual(comparable(event));
    }
  });

  it("one id for all events of a turn", async () => {
    const heard = await heardByTurnlog(cases["three steps"] ?? { script: [] }, source);
    const ids = new Set(heard.map(([, event]) => (event as { callId: string }).callId));
    expect([...ids]).toEqual([expect.any(String)]);
  });

  it("an error in the stream is told when it is known that nothing tries again", async () => {
    const error = new Error("Chunk.");
    const one = { script: [calling(says("Well. "), { type: "error", error })] };
    const heard = await heardByTurnlog(one, source);
    expect(namesOf(heard).toSorted()).toEqual(namesOf(await heardBySdk(one)).toSorted());
    expect(heard.find(([name]) => name === "onError")?.[1]).toMatchObject({ error });
    expect(heard.find(([name]) => name === "onStepEnd")?.[1]).toMatchObject({
      finishReason: "error",
      text: "Well. ",
    });
  });

  it.each(["onStart", "onStepStart", "onStepEnd"] as const)(
    "a stop at %s begins nothing more",
    async (stopAt) => {
      const one = { script: [asks, "Done."], settings: { tools: { add } }, stopAt };
      const names = namesOf(await heardByTurnlog(one, source));
      expect(names.slice(names.indexOf(stopAt))).toEqual([stopAt, "onAbort"]);
    },
  );

  it("a stop while a tool runs is told after the tool has ended", async () => {
    const one: LifecycleCase = {
      script: [asks],
      settings: { tools: { add } },
      stopAt: "onToolExecutionStart",
    };
    const heard = await heardByTurnlog(one, source);
    expect(namesOf(heard).slice(-2)).toEqual(["onToolExecutionEnd", "onAbort"]);
    expect(namesOf(heard).toSorted()).toEqual(namesOf(await heardBySdk(one)).toSorted());
  });
});

function namesOf(heard: readonly Heard[]): string[] {
  return heard.map(([name]) => name);
}

/** Fields that differ by their nature: ids, times, and what the SDK adds to its own requests. */
const differing = new Set([
  "callId",
  "id",
  "responseId",
  "performance",
  "toolExecutionMs",
  "timestamp",
  "promptMessages",
  "stepTools",
  "stepToolChoice",
  "request",
  "user-agent",
  "usage",
  "totalUsage",
  "approvalId",
  "turnlog",
]);

/** What a listener can read of an event, without what differs by its nature. */
function comparable(value: unknown, depth = 0): unknown {
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null || depth > 9) return value;
  if (value instanceof Error || value instanceof Date) return value;
  // The model gets an error in other words.
  if ("type" in value && value.type === "error-text") return value.type;
  if (Array.isArray(value)) return value.map((one) => comparable(one, depth + 1));
  const fields: Record<string, unknown> = {};
  for (const name of readable(value)) {
    if (differing.has(name)) continue;
    const own = comparable(Reflect.get(value, name), depth + 1);
    const names = typeof own === "object" && own !== null ? Object.keys(own) : [];
    if (own === undefined || (name === "headers" && names.length === 0)) continue;
    fields[name] = name === "tools" ? names : own;
  }
  return fields;
}

/** Own properties and the getters of a class. */
function readable(value: object): readonly string[] {
  const prototype: object = Object.getPrototypeOf(value) as object;
  const getters = prototype === Object.prototype ? [] : Object.getOwnPropertyNames(prototype);
  return [...Object.keys(value), ...getters.filter((name) => name !== "constructor")];
}
