/** A replayed session is the recorded one; a changed agent is found where the change first tells. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool, type ToolSet } from "ai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import type { EventType, SessionEvent } from "../../src/events/index.ts";
import {
  createRuntime,
  openMemoryLog,
  slidingWindow,
  summarize,
  tokens,
  type Agent,
} from "../../src/public/index.ts";
import type { CompactionChoice } from "../../src/agent/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { replayModel, scriptedModel } from "../../src/models/index.ts";
import { recordedRuns, replayTools } from "../../src/replay/replay-tools.ts";
import { askingAgent } from "../laws/approval-sessions.ts";
import { overflowingAgent, pruningAgent, summingAgent } from "../laws/context-sessions.ts";
import { mortalAgent } from "../laws/crash-sessions.ts";
import { busyAgent } from "../laws/parallel-sessions.ts";
import { triedAgent } from "../laws/retry-sessions.ts";
import { fixtureNames, readFixture, type FixtureName } from "../laws/session-fixture.ts";
import { toolAgent } from "../laws/tool-sessions.ts";
import { agentOf, strictAgent } from "../laws/recorded-scripts.ts";
import { troubledAgent } from "../laws/trouble-sessions.ts";
import { clerk } from "../support/clerk.ts";
import { improvisedModel } from "../support/improvised-model.ts";
import { patience, someOfEach, times } from "../support/runs.ts";
import { workshop, workTools } from "../support/workshop.ts";

describe.each(fixtureNames)("the session %s", (name) => {
  it("happens again as it was recorded, event by event", async () => {
    const events = await readFixture(name);
    // Who waits in real time waits forever.
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { difference } = await replay(events, await agentOf(name));
    expect(difference && differenceText(difference)).toBeUndefined();
  });
});

/** What follows from what came before: nobody outside, no model and no tool says it. */
const consequences: ReadonlySet<EventType> = new Set<EventType>([
  "session.created",
  "session.configured",
  "turn.started",
  "message.delivered",
  "step.started",
  "step.interrupted",
  "tool.started",
  "tool.approval-requested",
  "tool.denied",
  "tool.skipped",
  "tool.unknown",
  "context.pruned",
  "context.overflowed",
  "context.counted",
  "context.count-failed",
  "context.compaction-rejected",
  "turn.ended",
]);

describe("a recording in which something else follows from the same", () => {
  it.each(fixtureNames)("is told from the session at that position: %s", async (name) => {
    const events = await readFixture(name);
    const changed = events.filter(({ type }) => consequences.has(type));
    expect(changed.length).toBeGreaterThan(8);
    for (const { position } of someOfEach(changed, ({ type }) => type)) {
      const altered = events.map((event) =>
        event.position === position
          ? ({ ...event, data: { ...event.data, other: 1 } } as SessionEvent)
          : event,
      );
      const { difference } = await replay(altered, await agentOf(name));
      expect(difference?.position).toBe(position);
      expect(difference?.recorded).toEqual(altered[position - 1]);
      expect(difference?.replayed).toMatchObject({ position, type: altered[position - 1]?.type });
    }
  });

  it("differs where the session continues and the recording does not", async () => {
    const events = await readFixture("tools");
    const { difference } = await replay(events.slice(0, -1), toolAgent());
    expect(difference).toMatchObject({
      position: events.length,
      recorded: undefined,
      replayed: { type: "turn.ended" },
    });
  });
});

/** The agent of the session `compactions` with another choice. */
function compactingWhen(when: CompactionChoice["when"], how?: CompactionChoice["how"]): Agent {
  const own = summingAgent();
  const { compact } = own.context ?? {};
  if (compact === undefined || compact === false) throw new Error("It compacts by itself.");
  return { ...own, context: { ...own.context, compact: { when, how: how ?? compact.how } } };
}

/** The agent of the session `tools` with one of its tools changed. */
function withTool(name: string, change: object): Agent {
  const agent = toolAgent();
  const tools = { ...agent.tools };
  tools[name] = { ...tools[name], ...change } as ToolSet[string];
  return { ...agent, tools };
}

describe("an agent that was changed", () => {
  it.each<[string, FixtureName, Agent, number, object]>([
    ["has other instructions", "tools", { ...toolAgent(), instructions: "No." }, 1, {}],
    ["has another model", "tools", { ...toolAgent(), model: "gpt-x" }, 1, {}],
    [
      "has a tool with another schema",
      "tools",
      withTool("map", { inputSchema: z.object({ city: z.string(), zoom: z.number() }) }),
      1,
      {},
    ],
    ["may take fewer steps", "tools", { ...toolAgent(), maxSteps: 7 }, 3, {}],
    [
      "tells the model less of an output",
      "tools",
      withTool("weather", { toModelOutput: () => ({ type: "text", value: "fine" }) }),
      33,
      { replayed: { type: "tool.succeeded", data: { modelOutput: { value: "fine" } } } },
    ],
    [
      "asks for no approval any more",
      "tools",
      withTool("book", { needsApproval: false }),
      71,
      { recorded: { type: "tool.approval-requested" }, replayed: { type: "tool.started" } },
    ],
    [
      "may go in circles",
      "limits",
      strictAgent({ loopGuard: false }),
      94,
      { recorded: { type: "turn.limit-reached" }, replayed: { type: "step.started" } },
    ],
    [
      "has no time limit",
      "limits",
      strictAgent({ timeout: {} }),
      107,
      { recorded: { type: "turn.limit-reached" }, replayed: undefined },
    ],
    [
      "is granted no last step",
      "limits",
      strictAgent({ timeLimits: {} }),
      107,
      { recorded: { data: { lastStep: true } }, replayed: { data: { lastStep: false } } },
    ],
    [
      "is asked for no approval by the agent",
      "approvals",
      { ...askingAgent(), toolApproval: {} },
      76,
      { recorded: { type: "tool.approval-requested" }, replayed: { type: "tool.started" } },
    ],
    [
      "compacts later",
      "compactions",
      compactingWhen(tokens(1200)),
      45,
      {
        recorded: { type: "context.compaction-started" },
        replayed: { type: "step.started" },
      },
    ],
    [
      "compacts another way",
      "compactions",
      compactingWhen(tokens(900), slidingWindow()),
      45,
      { replayed: { data: { strategy: "sliding-window" } } },
    ],
    [
      "keeps more beside its summary",
      "compactions",
      compactingWhen(tokens(900), summarize({ keepTokens: 500 })),
      46,
      {},
    ],
    [
      "prunes nothing",
      "pruning",
      { ...pruningAgent(), context: { prune: false, compact: false } },
      81,
      { recorded: { type: "context.pruned" }, replayed: { type: "step.started" } },
    ],
    [
      "gives up on a prompt that is too long",
      "overflow",
      { ...overflowingAgent(), context: { compact: false } },
      38,
      {
        recorded: { type: "context.compaction-started" },
        replayed: { type: "step.failed" },
      },
    ],
    [
      "runs nothing twice",
      "crashes",
      { ...mortalAgent(), toolPolicies: {} },
      53,
      { replayed: { type: "tool.unknown" } },
    ],
    [
      "has more patience with its model",
      "retries",
      { ...triedAgent(), timeout: { tools: { deafMs: 400, weatherMs: 10 } } },
      55,
      { recorded: { type: "step.retrying" }, replayed: undefined },
    ],
    [
      "does not try again",
      "trouble",
      { ...troubledAgent([]), maxRetries: 0 },
      7,
      { recorded: { type: "step.retrying" }, replayed: { type: "step.failed" } },
    ],
  ])("is found where the change first tells: it %s", async (_, name, agent, position, sides) => {
    const events = await readFixture(name);
    const found = await replay(events, agent, { patienceMs: 200 });
    expect(found.events).toBe(position - 1);
    expect(found.difference).toMatchObject({ position, ...sides });
    const words = found.difference && differenceText(found.difference);
    expect(words).toMatch(new RegExp(`^At position ${position} `, "m"));
  });
});

it.each([
  ["one by one", { toolCallConcurrency: 1 }],
  ["with more at once", { toolPolicies: {} }],
] as const)("an agent that runs parallel calls %s repeats the session", async (_, changed) => {
  const events = await readFixture("parallel");
  expect(await replay(events, { ...busyAgent(), ...changed })).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
});

describe("a replay", () => {
  it("calls neither the agent's model nor its tools", async () => {
    const events = await readFixture("tools");
    const broken = (): never => {
      throw new Error("It was called.");
    };
    const agent = toolAgent();
    const tools = Object.fromEntries(
      Object.entries(agent.tools ?? {}).map(([name, one]) => [name, { ...one, execute: broken }]),
    );
    const model = { ...scriptedModel([]), doStream: broken };
    const found = await replay(events, { ...agent, model, tools: tools as ToolSet });
    expect(found).toEqual({ events: events.length, parts: expect.anything() as unknown });
  });

  it("is of a whole session", async () => {
    const events = await readFixture("tools");
    for (const part of [[], events.slice(1), events.toSpliced(40, 1)]) {
      const refused = replay(part, toolAgent());
      await expect(refused).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
  });

  it(
    "is the session also where the model improvises and a person approves",
    { timeout: patience },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "turnlog-replay-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const agent: Agent = {
        model: improvisedModel({ tools: workTools, rounds: 3 }),
        tools: workshop({ file: join(folder, "works") }),
      };
      const seen = new Set<string>();
      for (let number = 0; number < times(8); number++) {
        const name = `s${number}`;
        await using log = await openMemoryLog();
        await using runtime = await createRuntime({ log, agent });
        const session = await runtime.session(name);
        await using approver = clerk(session, (callId) => callId.endsWith("0"));
        for (const text of ["One.", "Two.", "Three."]) await session.send(`${name} ${text}`);
        await approver.idle();
        const events = await Array.fromAsync(log.read(name));
        for (const { type } of events) seen.add(type);
        const { difference } = await replay(events, agent);
        expect(difference && `${name}: ${differenceText(difference)}`).toBeUndefined();
      }
      const kinds = ["step.retrying", "tool.progressed", "tool.failed", "tool.denied"];
      expect([...seen]).toEqual(expect.arrayContaining(kinds));
    },
  );
});

describe("a model and tools of a log", () => {
  const call = { type: "tool-call", toolCallId: "1", toolName: "now", input: {} } as const;

  async function recorded(): Promise<SessionEvent[]> {
    const now = tool({ inputSchema: z.object({}), execute: () => new Date(0) });
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({
      log,
      agent: { model: scriptedModel([{ parts: [call] }, "Long ago."]), tools: { now } },
    });
    const session = await runtime.session("s");
    await (
      await session.send("What time is it?")
    ).result;
    return await Array.fromAsync(log.read("s"));
  }

  it("answer an agent of one's own, without the agent that was recorded", async () => {
    const events = await recorded();
    const agent: Agent = { model: replayModel(events), tools: replayTools(events) };
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("again");
    const turn = await session.send("What time is it?");
    expect(await turn.result).toMatchObject({ text: "Long ago.", finishReason: "stop" });
    const { toolCalls, prompt } = await session.view();
    expect(toolCalls).toMatchObject([{ toolName: "now", status: "succeeded" }]);
    expect(JSON.stringify(prompt)).toContain("1970-01-01T00:00:00.000Z");
  });

  it("say so when they are asked for more than was recorded", async () => {
    const events = await recorded();
    const agent: Agent = { model: replayModel(events), tools: replayTools(events) };
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("again");
    await (
      await session.send("What time is it?")
    ).result;
    const more = await session.send("And now?");
    await expect(more.result).rejects.toThrow(/call 3 of the replay model.*2 model calls/);
  });
});

it("the outcome and the progress of a call that ran twice are its second run's", () => {
  const started = (attempt: number) =>
    ({
      type: "tool.started",
      data: { step: 1, callId: "c", toolName: "x", effectId: "e", attempt },
    }) as const;
  const events = [
    started(1),
    started(2),
    { type: "tool.progressed", data: { step: 1, callId: "c", output: "half" } },
    { type: "tool.succeeded", data: { step: 1, callId: "c", output: "all" } },
  ] as const;
  const [first, second] = recordedRuns(
    events.map((event, index) => ({ position: index + 1, time: 1, ...event })),
  );
  expect([first?.progress, first?.end]).toEqual([[], undefined]);
  expect(second).toMatchObject({ progress: [{ position: 3 }], end: { position: 4 } });
});
