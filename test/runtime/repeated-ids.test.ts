/** Several calls of one id in a reply: what is shown of each is what runs, and each gets its own answer. */

import { tool, type LanguageModel, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  exportSession,
  importSession,
  openMemoryLog,
  promptWithMedia,
  verifySession,
  type Agent,
  type Session,
} from "../../src/public/index.ts";
import { scriptedModel, type ScriptedPart, type ScriptedStep } from "../../src/models/index.ts";
import { readUIMessages, uiMessages } from "../../src/ui/index.ts";
import { replay } from "../../src/replay/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { storedEvents } from "../support/replay.ts";
import { openSession, reopen } from "../support/with-runtime.ts";
import { anthropic, google, openai, provider, type Client } from "./posting-provider.ts";
import { logProblems } from "../support/log-problems.ts";

const sources = ["language-model-call", "stream-text"] as const;

interface Remover {
  readonly removed: string[];
  readonly tools: ToolSet;
}

function remover(): Remover {
  const removed: string[] = [];
  const remove = tool({
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => {
      removed.push(path);
      return `removed ${path}`;
    },
  });
  return { removed, tools: { remove } };
}

const paths = ["/tmp/old.log", "/home/ann", "/srv"] as const;
const removing = (path: string): ScriptedPart => call("remove", "call_0", { path });
const asks = { remove: "user-approval" } as const;

async function turn(session: Session, text = "Clean up."): Promise<void> {
  await (await session.send(text)).untilRest();
}

/** What the model of a script was told in its last request. */
function told(model: ReturnType<typeof scriptedModel>): string {
  return JSON.stringify(model.calls.at(-1)?.prompt);
}

describe.each(sources)("three calls of one id, by %s", (stepSource) => {
  const script = (): readonly ScriptedStep[] => [calling(...paths.map(removing)), "Done."];

  it("are shown, asked about, run and told apart", async () => {
    const { removed, tools } = remover();
    const model = scriptedModel(script());
    await using open = await openSession({ model, tools, toolApproval: asks }, { stepSource });
    const { session, log } = open;
    await turn(session);
    const { approvals, toolCalls } = await session.view();
    expect(approvals.map(({ approvalId, input }) => [approvalId, input])).toEqual([
      ["s~1~1~call_0~1", { path: "/tmp/old.log" }],
      ["s~1~1~call_0@2~1", { path: "/home/ann" }],
      ["s~1~1~call_0@3~1", { path: "/srv" }],
    ]);
    expect(toolCalls.map(({ callId }) => callId)).toEqual(["call_0", "call_0@2", "call_0@3"]);
    await session.approve("s~1~1~call_0@3~1");
    await session.deny("s~1~1~call_0@2~1", { reason: "her home" });
    await session.approve("s~1~1~call_0~1");
    await session.atRest();
    expect(removed.toSorted()).toEqual(["/srv", "/tmp/old.log"]);
    const prompt = model.calls[1]?.prompt ?? [];
    expect(promptProblems(await promptWithMedia(log, "s")).map(({ rule }) => rule)).toEqual([
      "ends-with-input",
    ]);
    const ids = JSON.stringify(prompt).match(/"toolCallId":"[^"]+"/g) ?? [];
    expect(new Set(ids).size).toBe(3);
    expect(JSON.stringify(prompt.at(-1)?.content)).toMatch(
      /removed \/tmp\/old\.log.*her home.*removed \/srv/,
    );
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });

  it("have a part each on the page, with the state and the input of their own", async () => {
    const { tools } = remover();
    const agent = { model: scriptedModel(script()), tools, toolApproval: asks };
    await using open = await openSession(agent, { stepSource });
    await turn(open.session);
    await open.session.approve("s~1~1~call_0~1");
    await open.session.deny("s~1~1~call_0@2~1");
    await open.session.deny("s~1~1~call_0@3~1");
    await open.session.atRest();
    const { initial, fold } = uiMessages({ session: "s" });
    const { messages } = readUIMessages((await open.events()).reduce(fold, initial));
    const parts = messages.at(-1)?.message.parts.filter(({ type }) => type === "tool-remove");
    expect(parts).toMatchObject(
      ["call_0", "call_0@2", "call_0@3"].map((toolCallId, at) => ({
        toolCallId,
        input: { path: paths[at] },
        state: at === 0 ? "output-available" : "output-denied",
        approval: { id: `s~1~1~${toolCallId}~1` },
      })),
    );
  });

  it("are the same after a restart, in a fork, and in an imported copy", async () => {
    const { removed, tools } = remover();
    const agent = (): Agent => ({ model: scriptedModel(script()), tools, toolApproval: asks });
    await using log = await openMemoryLog();
    const first = await openSession(agent(), { log, stepSource });
    await turn(first.session);
    const fork = await first.session.fork({ id: "f" });
    expect((await fork.view()).approvals.map(({ input }) => input)).toEqual(
      paths.map((path) => ({ path })),
    );
    await importSession(log, exportSession(log, "s"), { as: "i" });
    const after: Agent = { ...agent(), model: scriptedModel(["Done.", "Done.", "Done."]) };
    await using open = await reopen(first, after, { stepSource });
    for (const name of ["s", "f", "i"]) {
      removed.length = 0;
      const session = await open.runtime.session(name);
      await session.deny(`${name}~1~1~call_0~1`);
      await session.deny(`${name}~1~1~call_0@3~1`);
      await session.approve(`${name}~1~1~call_0@2~1`);
      await session.atRest();
      expect(removed).toEqual(["/home/ann"]);
    }
    expect(await logProblems(log)).toEqual([]);
  });

  it("are repeated by a replay", async () => {
    const { tools } = remover();
    const agent = (): Agent => ({ model: scriptedModel(script()), tools, toolApproval: asks });
    await using open = await openSession(agent(), { stepSource });
    await turn(open.session);
    const { approvals } = await open.session.view();
    for (const { approvalId } of approvals) await open.session.approve(approvalId);
    await open.session.atRest();
    expect((await replay(await open.events(), agent())).difference).toBeUndefined();
  });

  it("are cancelled, each of them", async () => {
    const { removed, tools } = remover();
    const agent = { model: scriptedModel(script()), tools, toolApproval: asks };
    await using open = await openSession(agent, { stepSource });
    await turn(open.session);
    await open.session.cancel();
    const { toolCalls, approvals } = await open.session.atRest();
    expect(toolCalls.map(({ status }) => status)).toEqual(["skipped", "skipped", "skipped"]);
    expect(approvals.map(({ status }) => status)).toEqual(["lapsed", "lapsed", "lapsed"]);
    expect(removed).toEqual([]);
  });

  it("run one at a time where the agent says so, each once", async () => {
    const { removed, tools } = remover();
    const agent: Agent = { model: scriptedModel(script()), tools, toolCallConcurrency: 1 };
    await using open = await openSession(agent, { stepSource });
    await turn(open.session);
    expect(removed).toEqual(paths);
    const effects = (await open.events()).flatMap(({ type, data }) =>
      type === "tool.started" ? [data.effectId] : [],
    );
    expect(effects).toEqual(["s/1/call_0", "s/1/call_0@2", "s/1/call_0@3"]);
  });

  it("come again in the next attempt and in the next step", async () => {
    const { removed, tools } = remover();
    const [one = removing("")] = paths.map(removing);
    const broken = calling(removing("a"), removing("b"), { type: "break", error: overloaded() });
    const model = scriptedModel([
      broken,
      calling(removing("c"), removing("d")),
      calling(one, removing("e")),
      "Done.",
    ]);
    await using open = await openSession({ model, tools }, { stepSource });
    await turn(open.session);
    expect(removed).toEqual(["c", "d", "/tmp/old.log", "e"]);
    expect((await verifySession(open.log, "s")).problems).toEqual([]);
  });

  it("tell callbacks and telemetry their own ids and inputs", async () => {
    const { tools } = remover();
    const told: unknown[] = [];
    const keep =
      (name: string) =>
      ({ toolCallId, input }: { readonly toolCallId: string; readonly input?: unknown }): void => {
        told.push([name, toolCallId, input]);
      };
    const remove = { ...tools["remove"], onInputAvailable: keep("available") } as ToolSet[string];
    const agent: Agent = {
      model: scriptedModel(script()),
      tools: { remove },
      onToolExecutionStart: ({ toolCall }) => {
        keep("started")(toolCall);
      },
      onStepEnd: ({ toolCalls, toolResults }) => {
        for (const each of [...toolCalls, ...toolResults]) keep("step")(each);
      },
    };
    await using open = await openSession(agent, { stepSource });
    await turn(open.session);
    const each = (name: string): unknown =>
      ["call_0", "call_0@2", "call_0@3"].map((id, at) => [name, id, { path: paths[at] }]);
    const named = (name: string): unknown => told.filter((one) => (one as [string])[0] === name);
    expect(named("available")).toEqual(each("available"));
    expect(named("started")).toEqual(each("started"));
    expect(named("step")).toEqual([each("step"), each("step")].flat());
  });
});

function overloaded(): Error {
  return Object.assign(new Error("fetch failed"), { code: "ECONNRESET" });
}

describe.each(sources)("calls of one id to different tools, by %s", (stepSource) => {
  it("run each with its own input, by the schema and the rule of its own tool", async () => {
    const ran: unknown[] = [];
    const saving = <Shape extends z.ZodRawShape>(name: string, shape: Shape) =>
      tool({
        inputSchema: z.object(shape),
        execute: (input) => {
          ran.push([name, input]);
          return `${name} ran`;
        },
      });
    const tools = {
      read: saving("read", { file: z.string(), size: z.number().default(1) }),
      write: saving("write", { bytes: z.number().default(5) }),
    };
    const model = scriptedModel([
      calling(call("read", "0", { file: "a" }), call("write", "0"), call("read", "0", 7)),
      "Done.",
    ]);
    const agent: Agent = { model, tools, toolApproval: { write: "user-approval" } };
    await using open = await openSession(agent, { stepSource });
    await turn(open.session);
    const read = ["read", { file: "a", size: 1 }];
    expect(ran).toEqual([read]);
    const { approvals, toolCalls } = await open.session.view();
    expect(approvals).toMatchObject([{ toolName: "write", input: { bytes: 5 } }]);
    expect(Object.fromEntries(toolCalls.map(({ callId, status }) => [callId, status]))).toEqual({
      "0": "succeeded",
      "0@2": "awaiting-approval",
      "0@3": "failed",
    });
    await open.session.approve(approvals[0]?.approvalId ?? "");
    await open.session.atRest();
    expect(ran).toEqual([read, ["write", { bytes: 5 }]]);
  });
});

describe.each(sources)("calls that the provider ran, by %s", (stepSource) => {
  const search = (query: string): ScriptedPart => ({
    type: "raw-part",
    part: {
      type: "tool-call",
      toolCallId: "call_0",
      toolName: "search",
      input: JSON.stringify({ query }),
      providerExecuted: true,
    },
  });
  const found = (result: string): ScriptedPart => ({
    type: "raw-part",
    part: { type: "tool-result", toolCallId: "call_0", toolName: "search", result },
  });
  const searching: ToolSet[string] = {
    type: "provider",
    isProviderExecuted: true,
    id: "test.search",
    args: {},
    inputSchema: z.object({ query: z.string() }),
    outputSchema: z.unknown(),
  };

  it.each([
    ["before", [search("x"), found("hits"), removing("/tmp/old.log")]],
    ["behind", [removing("/tmp/old.log"), search("x"), found("hits")]],
    ["around", [search("x"), removing("/tmp/old.log"), found("hits")]],
  ] as const)("%s one of ours of the same id leave it its input", async (_where, parts) => {
    const { removed, tools } = remover();
    const model = scriptedModel([{ parts: [...parts], finishReason: "tool-calls" }, "Done."]);
    const agent: Agent = { model, tools: { ...tools, search: searching } };
    await using open = await openSession(agent, { stepSource });
    await turn(open.session);
    expect(removed).toEqual(["/tmp/old.log"]);
    const { history } = await open.session.view();
    const step = history.find((item) => item.kind === "step");
    const mine = step?.parts.find(({ kind }) => kind === "call");
    const theirs = step?.parts.find(({ kind }) => kind === "provider-call");
    const result = step?.parts.find(({ kind }) => kind === "provider-result");
    const idOf = (part: object | undefined): unknown => part && "callId" in part && part.callId;
    expect(mine).toMatchObject({ outcome: { output: "removed /tmp/old.log" } });
    expect(result).toMatchObject({ output: "hits", callId: idOf(theirs) });
    expect(idOf(mine)).not.toBe(idOf(theirs));
    const events = await open.events();
    const recorded = events.find(({ type }) => type === "part.tool-result");
    expect(recorded?.data).toMatchObject({ input: { query: "x" } });
    const { initial, fold } = uiMessages({ session: "s" });
    const { messages } = readUIMessages(events.reduce(fold, initial));
    const shown = messages.at(-1)?.message.parts.filter(({ type }) => type.startsWith("tool-"));
    expect(shown).toHaveLength(2);
    expect(shown).toContainEqual(
      expect.objectContaining({ type: "tool-search", output: "hits", state: "output-available" }),
    );
    expect(shown).toContainEqual(
      expect.objectContaining({ type: "tool-remove", output: "removed /tmp/old.log" }),
    );
    expect(promptProblems(await promptWithMedia(open.log, "s")).map(({ rule }) => rule)).toEqual([
      "ends-with-input",
    ]);
    expect((await verifySession(open.log, "s")).problems).toEqual([]);
  });

  it("of one id have each its own result", async () => {
    const model = scriptedModel([
      { parts: [search("x"), search("y"), found("of x"), found("of y"), ...saying("Done.").parts] },
      "And?",
    ]);
    await using open = await openSession({ model, tools: { search: searching } }, { stepSource });
    await turn(open.session);
    await turn(open.session, "Go on.");
    const sent = model.calls[1]?.prompt.flatMap(({ role, content }) =>
      role === "assistant" ? content : [],
    );
    const ids = sent?.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : []));
    expect(new Set(ids).size).toBe(2);
    expect(ids?.slice(0, 2)).toEqual(ids?.slice(2));
    expect(promptProblems(await promptWithMedia(open.log, "s")).map(({ rule }) => rule)).toEqual([
      "ends-with-input",
    ]);
  });
});

it("two calls of one id that the provider answers in its next reply get both results, and no third reply", async () => {
  const search = (input: string): ScriptedPart => ({
    type: "raw-part",
    part: { type: "tool-call", toolCallId: "0", toolName: "search", input, providerExecuted: true },
  });
  const found = (result: string): ScriptedPart => ({
    type: "raw-part",
    part: { type: "tool-result", toolCallId: "0", toolName: "search", result },
  });
  const searching: ToolSet[string] = {
    type: "provider",
    isProviderExecuted: true,
    supportsDeferredResults: true,
    id: "test.search",
    args: {},
    inputSchema: z.object({}),
    outputSchema: z.unknown(),
  };
  const model = scriptedModel([
    { parts: [search("{}"), search("{}")] },
    { parts: [found("one"), found("two"), ...saying("Done.").parts] },
  ]);
  await using open = await openSession({ model, tools: { search: searching } });
  await turn(open.session);
  const results = (await open.events()).flatMap(({ type, data }) =>
    type === "part.tool-result" ? [[data.toolCallId, data.output]] : [],
  );
  expect(results).toEqual([
    ["0", "one"],
    ["0@2", "two"],
  ]);
  expect(model.calls).toHaveLength(2);
});

it("two calls of one id that a client runs are answered each by itself", async () => {
  const locate = tool({ inputSchema: z.object({ who: z.string() }), outputSchema: z.string() });
  const model = scriptedModel([
    calling(...["ann", "bob"].map((who) => call("locate", "call_0", { who }))),
    "Done.",
  ]);
  await using open = await openSession({ model, tools: { locate } });
  await turn(open.session);
  const { outputRequests } = await open.session.view();
  expect(outputRequests.map(({ requestId, input }) => [requestId, input])).toEqual([
    ["s~1~1~call_0", { who: "ann" }],
    ["s~1~1~call_0@2", { who: "bob" }],
  ]);
  await open.session.answerCall("s~1~1~call_0@2", { output: "in Bonn" });
  await open.session.answerCall("call_0", { error: "lost" });
  await open.session.atRest();
  expect(told(model)).toMatch(/lost.*in Bonn/);
});

it("two calls of one id to a sub-agent have a session each", async () => {
  const research: Agent = {
    model: scriptedModel(
      ({ prompt }) => `About ${JSON.stringify(prompt).includes("tea") ? "tea" : "rum"}`,
    ),
  };
  const model = scriptedModel([
    calling(...["tea", "rum"].map((task) => call("research", "call_0", { task }))),
    "Done.",
  ]);
  const tools = { research: agentTool({ agent: research, description: "Finds facts." }) };
  await using open = await openSession({ model, tools });
  await turn(open.session);
  const { toolCalls } = await open.session.view();
  expect(new Set(toolCalls.map(({ child }) => child)).size).toBe(2);
  expect(told(model)).toMatch(/About tea.*About rum/);
  for (const { callId, child = "" } of toolCalls)
    expect((await (await open.runtime.session(child)).view()).summary.parent).toMatchObject({
      callId,
    });
});

it("results of two calls of one id are cut, and each is read by its own name", async () => {
  const long = (letter: string): string => `${letter.repeat(79)}\n`.repeat(2000);
  const read = tool({
    inputSchema: z.object({ letter: z.string() }),
    execute: ({ letter }) => long(letter),
  });
  const model = scriptedModel([
    calling(...["x", "y"].map((letter) => call("read", "call_0", { letter }))),
    calling(call("read_tool_output", "r", { call: "call_0@2", from: 0 })),
    "Done.",
  ]);
  const context = { limits: { scripted: { contextWindow: 20_000, maxOutputTokens: 1000 } } };
  await using open = await openSession({ model, tools: { read }, context });
  await turn(open.session);
  const cuts = (await open.events()).flatMap(({ type, data }) =>
    type === "context.cut" ? data.calls.map(({ callId }) => callId) : [],
  );
  expect(cuts).toEqual(expect.arrayContaining(["call_0", "call_0@2"]));
  const page = model.calls[2]?.prompt.at(-1);
  expect(JSON.stringify(page)).toContain("yyyy");
  expect(JSON.stringify(page)).not.toContain("xxxx");
});

interface Wire {
  readonly client: Client;
  /** A reply with two calls of `call_0`. */
  readonly calling: readonly object[];
}

const wires: readonly (readonly [string, Wire])[] = [
  [
    "Anthropic",
    {
      client: anthropic,
      calling: [
        {
          type: "message_start",
          message: { id: "m", model: "claude", usage: { input_tokens: 20, output_tokens: 1 } },
        },
        ...["/tmp/old.log", "/home/ann"].flatMap((path, index) => [
          {
            type: "content_block_start",
            index,
            content_block: { type: "tool_use", id: "call_0", name: "remove", input: {} },
          },
          {
            type: "content_block_delta",
            index,
            delta: { type: "input_json_delta", partial_json: JSON.stringify({ path }) },
          },
          { type: "content_block_stop", index },
        ]),
        { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 4 } },
        { type: "message_stop" },
      ],
    },
  ],
  [
    "OpenAI",
    {
      client: openai,
      calling: [
        { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } },
        ...["/tmp/old.log", "/home/ann"].map((path, output_index) => ({
          type: "response.output_item.done",
          output_index,
          item: {
            type: "function_call",
            id: `fc_${output_index}`,
            call_id: "call_0",
            name: "remove",
            arguments: JSON.stringify({ path }),
            status: "completed",
          },
        })),
        {
          type: "response.completed",
          response: { id: "resp_1", usage: { input_tokens: 20, output_tokens: 4 } },
        },
      ],
    },
  ],
  [
    "Google",
    {
      client: google,
      calling: [
        {
          candidates: [
            {
              content: {
                role: "model",
                parts: ["/tmp/old.log", "/home/ann"].map((path) => ({
                  functionCall: { id: "call_0", name: "remove", args: { path } },
                })),
              },
              finishReason: "STOP",
            },
          ],
          usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 4 },
        },
      ],
    },
  ],
];

describe.each(wires)("a reply with one id twice of %s's real client", (_name, wire) => {
  it.each(sources)("is asked about, run and answered call by call, by %s", async (stepSource) => {
    const { removed, tools } = remover();
    await using server = await provider(wire.client, wire.calling);
    const model: LanguageModel = wire.client.model(server.url);
    await using open = await openSession({ model, tools, toolApproval: asks }, { stepSource });
    await turn(open.session);
    const { approvals } = await open.session.view();
    expect(approvals.map(({ input }) => input)).toEqual([
      { path: "/tmp/old.log" },
      { path: "/home/ann" },
    ]);
    await open.session.approve(approvals[0]?.approvalId ?? "");
    await open.session.deny(approvals[1]?.approvalId ?? "", { reason: "her home" });
    await open.session.atRest();
    expect(removed).toEqual(["/tmp/old.log"]);
    const body = JSON.stringify(server.posted[1]?.body);
    expect(body).toMatch(/removed \/tmp\/old\.log.*her home/);
    expect(body).not.toContain("@2");
  });
});

it("a log of an earlier release with one id twice in a reply is named by verify, and continues", async () => {
  const { removed, tools } = remover();
  const asking = { tools, toolApproval: asks };
  await using store = await openMemoryLog();
  const once = scriptedModel([calling(removing("/tmp/old.log"), removing("/home/ann"))]);
  const first = await createRuntime({ log: store, agent: { ...asking, model: once } });
  await turn(await first.session("s"));
  await first.close();
  // That release recorded the second call under the same id, and asked about one.
  const events = (await storedEvents(store, "s"))
    .filter(({ type, data }) => type !== "tool.approval-requested" || data.callId === "call_0")
    .map(({ position: _, ...event }) => {
      if (event.type === "part.tool-call")
        return { ...event, data: { ...event.data, toolCallId: "call_0" } };
      if (event.type === "part.tool-input-start")
        return { ...event, data: { ...event.data, id: "call_0" } };
      if (event.type === "part.tool-input-delta")
        return { ...event, data: { ...event.data, id: "call_0" } };
      return event;
    });
  await using old = await openMemoryLog();
  await old.append("s", "none", events, { origin: "recorded" });
  // A copy from its file is as welcome as the store.
  await using log = await openMemoryLog();
  await importSession(log, exportSession(old, "s"));
  const { problems } = await verifySession(log, "s");
  expect(problems.map(({ rule, what }) => `${rule}: ${what}`)).toEqual([
    "identity: the reply of step 1 has two calls with the id call_0, which an earlier release took for one: the call that ran may have had a different input than the one that was shown and approved",
  ]);
  const model = scriptedModel(["Done.", "Fine."]);
  await using runtime = await createRuntime({ log, agent: { ...asking, model } });
  const session = await runtime.session("s");
  const { approvals } = await session.view();
  expect(approvals).toMatchObject([{ status: "waiting", input: { path: "/tmp/old.log" } }]);
  const { initial, fold } = uiMessages({ session: "s" });
  const { messages } = readUIMessages((await storedEvents(log, "s")).reduce(fold, initial));
  const shown = messages.at(-1)?.message.parts.filter(({ type }) => type === "tool-remove");
  expect(shown).toMatchObject([
    {
      state: "approval-requested",
      input: { path: "/tmp/old.log" },
      approval: { id: "s~1~1~call_0~1" },
    },
  ]);
  await session.approve(approvals[0]?.approvalId ?? "");
  await session.atRest();
  await turn(session, "And?");
  expect(removed).toEqual(["/tmp/old.log"]);
  expect(told(model)).toContain("Done.");
  expect((await verifySession(log, "s")).problems).toHaveLength(1);
  expect((await storedEvents(log, "s")).at(-1)?.type).toBe("turn.ended");
});
