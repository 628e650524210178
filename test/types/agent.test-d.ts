/** What the compiler knows of an agent's settings and tools. */

import { Output, tool } from "ai";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  isCallOf,
  type Agent,
  type InferAgentUIMessage,
  type JsonValue,
  type SessionEvent,
} from "turnlog";
import { scriptedModel } from "turnlog/testing";

const model = scriptedModel(["Yes."]);
const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.object({ degrees: z.number() }),
  execute: ({ city }) => ({ degrees: city.length }),
});
const agent = { model, tools: { weather } } satisfies Agent;

test("a message for pages has the inputs and outputs of the agent's tools", () => {
  type Part = InferAgentUIMessage<typeof agent>["parts"][number];
  type Call = Extract<Part, { readonly type: "tool-weather"; readonly state: "output-available" }>;
  expectTypeOf<Call["input"]>().toEqualTypeOf<{ city: string }>();
  expectTypeOf<Call["output"]>().toEqualTypeOf<{ degrees: number }>();
});

test("an event of a call has the input of its tool", () => {
  const event = {} as SessionEvent;
  if (isCallOf(event, "weather", weather)) {
    expectTypeOf(event.data.input.city).toEqualTypeOf<string>();
    expectTypeOf(event.data.toolCallId).toEqualTypeOf<string>();
  }
});

test("an event has the data of its type", () => {
  const event = {} as SessionEvent;
  if (event.type === "part.text-delta") expectTypeOf(event.data.text).toEqualTypeOf<string>();
  expectTypeOf<SessionEvent<"turn.ended">["type"]>().toEqualTypeOf<"turn.ended">();
  expectTypeOf<SessionEvent["position"]>().toEqualTypeOf<number>();
});

test("an agent as a tool takes a task, and gives JSON", () => {
  const helper = agentTool({ agent, description: "Helps." });
  expectTypeOf<Parameters<NonNullable<typeof helper.execute>>[0]["task"]>().toEqualTypeOf<string>();
  type Made = typeof helper extends { readonly execute?: (...given: never[]) => infer Answer }
    ? Exclude<Awaited<Answer>, AsyncIterable<unknown>>
    : never;
  expectTypeOf<Made>().toEqualTypeOf<JsonValue>();
});

test("callbacks of an agent know what they get, and tools of other types fit in", () => {
  expectTypeOf(agent).toExtend<Agent>();
  const watched: Agent = {
    model,
    prepareStep: ({ stepNumber, messages }) => {
      expectTypeOf(stepNumber).toEqualTypeOf<number>();
      expectTypeOf(messages).not.toBeAny();
      return { toolChoice: "none" };
    },
    prepareCall: ({ options, ...settings }) => {
      expectTypeOf(options).toBeUnknown();
      return settings;
    },
    output: Output.object({ schema: z.object({ sum: z.number() }) }),
  };
  expectTypeOf(watched.output).not.toBeAny();
});

test("settings that do not exist are refused", () => {
  expectTypeOf<{ onInterrupted: "again" }>().not.toExtend<
    NonNullable<Agent["toolPolicies"]>[string]
  >();
  // @ts-expect-error It is `instructions`.
  expectTypeOf({ model, instruction: "Be brief." } satisfies Agent).not.toBeAny();
  // @ts-expect-error It is `memory`.
  expectTypeOf(createRuntime({ memry: true, agent })).not.toBeAny();
});
