// A turn gives the same spans as a run of `ToolLoopAgent`: one trace, with its steps, model calls and
// tools nested rightly, and nothing where nothing is registered, and in replays.
import {
  APICallError,
  registerTelemetry,
  tool,
  ToolLoopAgent,
  type Telemetry,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import { OpenTelemetry } from "@ai-sdk/otel";
import { context, trace } from "@opentelemetry/api";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import {
  eventIdentity,
  sessionAttributes,
  sessionTracer,
  type Agent,
} from "../../src/public/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import type { StepSourceName } from "./lifecycle-run.ts";
import { spansInMemory, withActiveSpans, type SpanTree } from "./spans.ts";

withActiveSpans();

const sources: readonly StepSourceName[] = ["language-model-call", "stream-text"];

const add = tool({
  description: "Adds one.",
  inputSchema: z.object({ x: z.number() }),
  execute: ({ x }) => ({ sum: x + 1 }),
});
const broken = tool({
  inputSchema: z.object({}),
  execute: (): string => {
    throw new Error("Broken.");
  },
});

interface Case {
  readonly script: readonly ScriptedStep[];
  readonly settings?: Omit<Agent, "model">;
  readonly fails?: boolean;
  /** The model gets the error of a failed tool in other words, and the SDK drops the usage of a failed run. */
  readonly otherUsage?: boolean;
}

const two: ScriptedStep = calling(call("add", "c1", { x: 1 }), call("add", "c2", { x: 2 }));
const cases: Readonly<Record<string, Case>> = {
  "a reply": { script: ["Hello."], settings: { instructions: "Be brief." } },
  "two tools in a step": { script: [two, "Done."], settings: { tools: { add } } },
  "a failing tool": {
    script: [calling(call("broken", "c1")), "Done."],
    settings: { tools: { broken } },
    otherUsage: true,
  },
  "a refused call": { script: [{ failure: new Error("No.") }], fails: true },
  "a later call that is refused": {
    script: [two, { failure: new Error("No.") }],
    settings: { tools: { add } },
    fails: true,
    otherUsage: true,
  },
  "an error in the stream": {
    script: [calling({ type: "error", error: new Error("Chunk.") })],
    fails: true,
  },
  "without inputs": {
    script: [two, "Done."],
    settings: { tools: { add }, instructions: "Be brief.", telemetry: { recordInputs: false } },
  },
  "without outputs": {
    script: [two, "Done."],
    settings: { tools: { add }, telemetry: { recordOutputs: false } },
  },
  "with a function id": {
    script: ["Hello."],
    settings: { telemetry: { functionId: "support" } },
  },
  "with a part of the contexts": {
    script: ["Hello."],
    settings: {
      runtimeContext: { user: "u", secret: "s" },
      telemetry: { includeRuntimeContext: { user: true } },
    },
  },
  "a telemetry that is off": { script: ["Hello."], settings: { telemetry: { isEnabled: false } } },
};

const whose = tool({
  inputSchema: z.object({}),
  contextSchema: z.object({ user: z.string(), secret: z.string() }),
  execute: (_, { context: { user } }) => user,
});

afterAll(() => {
  context.disable();
});

afterEach(() => {
  globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = undefined;
});

async function sdkSpans(one: Case): Promise<readonly SpanTree[]> {
  const { integration, trees } = spansInMemory({ runtimeContext: true, toolChoice: false });
  globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = undefined;
  registerTelemetry(integration);
  const settings: unknown = {
    ...one.settings,
    model: scriptedModel(one.script),
    onError: () => {},
  };
  const agent = new ToolLoopAgent(settings as ToolLoopAgentSettings<never, ToolSet>);
  const { stream } = await agent.stream({ prompt: "Go." });
  try {
    for await (const _ of stream);
  } catch {
    // The spans tell of it.
  }
  return trees();
}

async function turnlogSpans(one: Case, stepSource: StepSourceName): Promise<readonly SpanTree[]> {
  const { integration, trees } = spansInMemory({ runtimeContext: true });
  globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = undefined;
  registerTelemetry(integration);
  const agent = {
    ...one.settings,
    context: { cut: false },
    model: scriptedModel(one.script),
  } as const;
  const { runtime, session } = await openSession(agent, { stepSource });
  const { result } = await session.send("Go.");
  const failed = await result.then(
    () => false,
    () => true,
  );
  expect(failed).toBe(one.fails === true);
  await runtime.close();
  return trees();
}

describe.each(sources)("%s", (source) => {
  it.each(Object.entries(cases))("%s: the same spans", async (_, one) => {
    const sdk = await sdkSpans(one);
    const comparable = (tree: SpanTree): SpanTree => comparableTree(tree, one.otherUsage === true);
    expect((await turnlogSpans(one, source)).map(comparable)).toEqual(sdk.map(comparable));
    expect(sdk).toHaveLength(one.settings?.telemetry?.isEnabled === false ? 0 : 1);
  });

  it("a tool runs in its span, so that spans of its own nest", async () => {
    const { integration, trees, tracer } = spansInMemory();
    registerTelemetry(integration);
    const query = tool({
      inputSchema: z.object({}),
      execute: async () => {
        await Promise.resolve();
        tracer.startSpan("query", {}).end();
        return trace.getActiveSpan() === undefined ? "outside" : "inside";
      },
    });
    const model = scriptedModel([calling(call("query", "c1")), "Done."]);
    await using open = await openSession({ model, tools: { query } }, { stepSource: source });
    await (
      await open.session.send("Go.")
    ).result;
    await open.runtime.close();
    const [step] = trees()[0]?.children ?? [];
    expect(step?.children.map(({ name }) => name)).toEqual(["chat scripted", "execute_tool query"]);
    expect(step?.children[1]?.children.map(({ name }) => name)).toEqual(["query"]);
  });
});

it("spans have the session, the turn, the step and the position", async () => {
  const { integration, trees } = spansInMemory({ enrichSpan: sessionAttributes });
  registerTelemetry(integration);
  const agent = { model: scriptedModel([two, "Done."]), tools: { add } };
  await using open = await openSession(agent);
  await (
    await open.session.send("Go.")
  ).result;
  await open.runtime.close();
  const [root] = trees();
  expect(root?.attributes).toMatchObject({
    "gen_ai.conversation.id": "s",
    "turnlog.turn": 1,
  });
  expect(root?.children.map(({ attributes }) => attributes["turnlog.step"])).toEqual([1, 2]);
  expect(root?.children[0]?.children.map(({ attributes }) => attributes["turnlog.turn"])).toEqual([
    1, 1, 1,
  ]);
});

describe("With `sessionTracer`, spans have what was spent, as the bill has it", () => {
  const usage = {
    inputTokens: { total: 1000, noCache: 300, cacheRead: 600, cacheWrite: 100 },
    outputTokens: { total: 50, text: 50, reasoning: 0 },
  };
  const billed = (step: Exclude<ScriptedStep, string>): ScriptedStep => ({ ...step, usage });

  it.each(sources)("each step, its failed attempts included, and the turn: %s", async (source) => {
    const { trees, tracer } = spansInMemory();
    const integrations = new OpenTelemetry({ tracer: sessionTracer(tracer) });
    const model = scriptedModel([
      "Hello.",
      calling({ type: "text", deltas: ["I "] }, { type: "break", error: overloaded() }),
      billed(calling(call("add", "c1", { x: 1 }))),
      billed(saying("Two.")),
      { failure: new Error("No.") },
    ]);
    const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
    const context = { limits: { [model.modelId]: { prices } } };
    const agent: Agent = { model, tools: { add }, context, telemetry: { integrations } };
    await using open = await openSession(agent, { stepSource: source });
    for (const text of ["Hi.", "Go."]) await (await open.session.send(text)).result;
    await (await open.session.send("Fail.")).result.catch(() => {});
    const { calls } = await open.session.bill();
    await open.runtime.close();
    const roots = trees();
    const paid = (of: (one: (typeof calls)[number]) => boolean): unknown =>
      expect.closeTo(
        calls.filter(of).reduce((sum, { dollars }) => sum + (dollars?.total ?? 0), 0),
        12,
      );
    const spent = ({ attributes }: SpanTree): unknown => attributes["turnlog.cost.dollars"];
    expect(roots.map(spent)).toEqual([1, 2, 3].map((turn) => paid((one) => one.turn === turn)));
    expect(roots.flatMap(({ children }) => children.map(spent))).toEqual(
      [1, 2, 3, 4].map((step) => paid((one) => one.step === step)),
    );
    expect(calls.map(({ step, purpose }) => [step, purpose])).toContainEqual([2, "retry"]);
    expect(roots[1]?.children[1]?.attributes).toMatchObject({
      "turnlog.cost.basis": "measured",
      "turnlog.cache.input_tokens": 1000,
      "turnlog.cache.read_tokens": 600,
      "turnlog.cache.written_tokens": 100,
    });
    expect(roots[1]?.children[0]?.attributes["turnlog.cost.basis"]).toBe("estimated");
  });

  it("no dollars without a price", async () => {
    const { trees, tracer } = spansInMemory();
    const integrations = new OpenTelemetry({ tracer: sessionTracer(tracer) });
    const model = scriptedModel(["Hello."]);
    await using open = await openSession({ model, telemetry: { integrations } });
    await (
      await open.session.send("Go.")
    ).result;
    await open.runtime.close();
    const attributes = trees()[0]?.children[0]?.attributes;
    expect(attributes).toMatchObject({ "turnlog.cost.unpriced_calls": 1 });
    expect(attributes).not.toHaveProperty(["turnlog.cost.dollars"]);
  });
});

it("each turn is a trace of its own", async () => {
  const { integration, traceIds } = spansInMemory();
  registerTelemetry(integration);
  await using open = await openSession({ model: scriptedModel(["One.", "Two."]) });
  for (const text of ["Go.", "On."]) await (await open.session.send(text)).result;
  await open.runtime.close();
  expect(traceIds().size).toBe(2);
});

it("the agent's own integrations take the place of the registered ones", async () => {
  const registered = spansInMemory();
  const own = spansInMemory();
  registerTelemetry(registered.integration);
  const telemetry = { integrations: own.integration };
  await using open = await openSession({ model: scriptedModel(["Hello."]), telemetry });
  await (
    await open.session.send("Go.")
  ).result;
  await open.runtime.close();
  expect([registered.trees().length, own.trees().length]).toEqual([0, 1]);
});

it("a replay gives no spans and calls no callbacks", async () => {
  const script: readonly ScriptedStep[] = [two, "Done."];
  const open = await openSession({ model: scriptedModel(script), tools: { add } });
  await (
    await open.session.send("Go.")
  ).result;
  const events = await open.events();
  await open.runtime.close();
  const { integration, trees } = spansInMemory();
  registerTelemetry(integration);
  const heard: string[] = [];
  const agent: Agent = {
    model: scriptedModel([]),
    tools: { add },
    onStart: () => void heard.push("onStart"),
    onEnd: () => void heard.push("onEnd"),
  };
  expect(await replay(events, agent)).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
  expect(trees()).toEqual([]);
  expect(heard).toEqual([]);
});

it("integrations hear of the session, and nothing of the contexts that they were not given", async () => {
  const heard: unknown[] = [];
  const integration: Telemetry = { onStart: (event) => void heard.push(event) };
  const agent: Agent = {
    model: scriptedModel(["Hello."]),
    runtimeContext: { secret: "s" },
    telemetry: { integrations: [integration] },
  };
  await using open = await openSession(agent);
  await (
    await open.session.send("Go.")
  ).result;
  await open.runtime.close();
  expect(heard.map(eventIdentity)).toMatchObject([{ session: "s", turn: 1, step: 1 }]);
  expect(JSON.stringify(heard)).not.toContain("secret");
});

function overloaded(): Error {
  return new APICallError({
    message: "Overloaded.",
    url: "https://provider.test",
    requestBodyValues: {},
    statusCode: 529,
  });
}

/** Without the session in the runtime context, which `ToolLoopAgent` does not know. */
function comparableTree(
  { name, status, attributes, children }: SpanTree,
  otherUsage: boolean,
): SpanTree {
  const ignored = otherUsage ? /context\.turnlog\.|gen_ai\.usage\./ : /context\.turnlog\./;
  return {
    name,
    status,
    attributes: Object.fromEntries(
      Object.entries(attributes)
        .filter(([key]) => !ignored.test(key))
        .map(([key, value]) => [
          key,
          typeof value === "string" ? value.replaceAll("Error: Broken.", "Broken.") : value,
        ]),
    ),
    children: children.map((child) => comparableTree(child, otherUsage)),
  };
}

/** The contexts of tools that an integration of the agent hears of, in order. */
function contextsHeard(): { readonly integration: Telemetry; readonly heard: unknown[] } {
  const heard: unknown[] = [];
  const keep = (name: string) => (event: object) => {
    const { toolsContext, toolContext } = { toolsContext: null, toolContext: null, ...event };
    heard.push([name, toolsContext, toolContext]);
  };
  const integration: Telemetry = {
    onStart: keep("start"),
    onStepStart: keep("step-start"),
    onToolExecutionStart: keep("tool-start"),
    onToolExecutionEnd: keep("tool-end"),
    onStepEnd: keep("step-end"),
    onEnd: keep("end"),
  };
  return { integration, heard };
}

describe.each([
  ["no context of tools", undefined],
  ["the chosen fields of a tool's context", { whose: { user: true } }],
  ["no field that is not chosen", { whose: { secret: false }, other: { user: true } }],
])("With includeToolsContext, integrations get %s", (_, includeToolsContext) => {
  it.each(sources)("as from `ToolLoopAgent`, with %s", async (stepSource) => {
    const script = [calling(call("whose", "c1")), "Done."];
    const settings = (integration: Telemetry): Omit<Agent, "model"> => ({
      tools: { whose, other: whose },
      toolsContext: {
        whose: { user: "u", secret: "s" },
        other: { user: "v", secret: "t" },
      },
      telemetry: {
        integrations: [integration],
        ...(includeToolsContext === undefined ? {} : { includeToolsContext }),
      },
    });
    const theirs = contextsHeard();
    const given: unknown = { ...settings(theirs.integration), model: scriptedModel(script) };
    const agent = new ToolLoopAgent(given as ToolLoopAgentSettings<never, ToolSet>);
    const { stream } = await agent.stream({ prompt: "Go." });
    for await (const part of stream) expect(part.type).not.toBe("error");
    const ours = contextsHeard();
    const own = { ...settings(ours.integration), model: scriptedModel(script) };
    await using open = await openSession(own, { stepSource });
    await (
      await open.session.send("Go.")
    ).result;
    await open.runtime.close();
    expect(ours.heard).toEqual(theirs.heard);
    expect(JSON.stringify(ours.heard)).toContain("tool-start");
    const isChosen = JSON.stringify(includeToolsContext?.whose) === '{"user":true}';
    expect(JSON.stringify(ours.heard).includes('"u"')).toBe(isChosen);
    expect(JSON.stringify(ours.heard)).not.toMatch(/"[st]"/);
  });
});
