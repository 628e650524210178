/** `compare`: what a candidate does, what it may never do, and how a set of sessions is compared. */

import { stepCountIs, tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compare, htmlOf, junitOf, type CompareOptions } from "../../src/compare/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import {
  createRuntime,
  encryptedLog,
  memoryBlobs,
  memoryKeys,
  openMemoryLog,
  verifySession,
  type Agent,
} from "../../src/public/index.ts";
import { png } from "../support/media.ts";
import { call, calling } from "../support/script.ts";

/** How often the tool that writes has run. */
const effects = { count: 0 };

const tools: ToolSet = {
  lookup: tool({
    description: "Looks an order up.",
    inputSchema: z.object({ order: z.number() }),
    execute: async ({ order }) => ({ order, paid: true }),
  }),
  refund: tool({
    description: "Pays an order back.",
    inputSchema: z.object({ order: z.number() }),
    execute: async ({ order }) => {
      effects.count += 1;
      return `paid back ${order}`;
    },
  }),
};

type Answer = ScriptedStep | string;

const lookup = (order: number): Answer => calling(call("lookup", `l${order}`, { order }));
const refund = (order: number): Answer => calling(call("refund", `r${order}`, { order }));

function agentOf(answers: readonly Answer[], more: Partial<Agent> = {}): Agent {
  return { model: scriptedModel([...answers]), tools, instructions: "You help.", ...more };
}

const answers = [lookup(17), refund(17), "Paid back.", "Yes."];

async function recorded(sessions = 1, later?: string): Promise<EventLog> {
  const log = await openMemoryLog();
  for (let index = 1; index <= sessions; index++) {
    await using runtime = await createRuntime({ log, agent: agentOf(answers) });
    const session = await runtime.session(`s${index}`);
    const turn = await session.send("Pay order 17 back.");
    if (later !== undefined) await session.send(later, { delivery: "follow-up" });
    await turn.result;
  }
  effects.count = 0;
  return log;
}

const tried = async (
  log: EventLog,
  candidate: readonly Answer[],
  options: Partial<CompareOptions> = {},
) => await compare(log, { agent: () => agentOf(candidate), ...options });

describe("a candidate", () => {
  it("that does the same is equal, and has no miss; the tools did not run", async () => {
    const log = await recorded();
    const report = await tried(log, answers, { recordedAgent: agentOf([]) });
    expect(report.counts).toMatchObject({ equal: 1, replayed: 1, misses: 0, stopped: 0 });
    expect(effects.count).toBe(0);
  });

  it("has the answers by name and input, whatever ids its model gives, and in whatever order it asks", async () => {
    const log = await recorded();
    const report = await tried(log, [
      calling(call("refund", "x", { order: 17 }), call("lookup", "y", { order: 17 })),
      "Paid back.",
    ]);
    expect(report.counts).toMatchObject({ different: 1, misses: 0, stopped: 0 });
    expect(report.sessions[0]?.turns[0]?.steps[0]?.candidate?.calls).toMatchObject([
      { toolName: "refund", outcome: "succeeded", result: '"paid back 17"' },
      { toolName: "lookup", outcome: "succeeded" },
    ]);
    expect(effects.count).toBe(0);
  });

  it("whose comparison is ended calls its model no longer", async () => {
    const log = await recorded();
    const stop = new AbortController();
    const model = scriptedModel(() => {
      stop.abort();
      return new Promise(() => {});
    });
    const report = await compare(log, { agent: agentOf([], { model }), signal: stop.signal });
    expect(report.counts).toMatchObject({ stopped: 1 });
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
  });

  it("sees the media of the recording", async () => {
    const log = await openMemoryLog();
    const picture = png({ width: 200, height: 100, seed: 1 });
    const file = { type: "file", mediaType: "image/png", data: picture } as const;
    await using runtime = await createRuntime({ log, agent: agentOf(["A picture."]) });
    const session = await runtime.session("s1");
    await (
      await session.send([{ type: "text", text: "What is it?" }, file])
    ).result;
    const model = scriptedModel(["A picture."]);
    const report = await compare(log, { agent: agentOf([], { model }) });
    expect(report.counts).toMatchObject({ equal: 1, stopped: 0 });
    expect(model.calls[0]?.prompt.at(-1)?.content).toContainEqual(
      expect.objectContaining({ data: { type: "data", data: picture.toString("base64") } }),
    );
  });

  it("stops at a call that the recording cannot answer, and says how far it came", async () => {
    const report = await tried(await recorded(), [lookup(17), refund(18), "Paid back."]);
    expect(report.counts).toMatchObject({ stopped: 1, misses: 1 });
    expect(report.sessions[0]).toMatchObject({
      verdict: "stopped",
      stopped: {
        at: "miss",
        step: 2,
        of: 3,
        why: 'The recording has no answer to refund with {"order":18}.',
      },
      misses: [{ step: 2, toolName: "refund", input: { order: 18 }, policy: "stop" }],
    });
    expect(effects.count).toBe(0);
  });

  it("asks a second time for what the recording answered once: a miss", async () => {
    const report = await tried(await recorded(), [refund(17), refund(17), "Twice."]);
    expect(report.sessions[0]?.stopped).toMatchObject({ at: "miss", step: 2 });
  });

  it("runs a tool only if the policy names it", async () => {
    const log = await recorded();
    const other = [lookup(18), refund(18), "Paid back."];
    const named = await tried(log, other, { onMiss: { live: ["lookup"] } });
    expect(named.sessions[0]?.stopped).toMatchObject({ at: "miss", step: 2 });
    expect(effects.count).toBe(0);
    const both = await tried(log, other, { onMiss: { live: ["lookup", "refund"] } });
    expect(both.sessions[0]?.misses.map(({ policy }) => policy)).toEqual(["live", "live"]);
    expect(effects.count).toBe(1);
  });

  it("gets a simulated answer, which is marked, and an answer of a function", async () => {
    const log = await recorded();
    const other = [lookup(18), refund(17), "Paid back."];
    const asked: string[] = [];
    const simulate = scriptedModel((options) => {
      asked.push(JSON.stringify(options));
      return '{ "order": 18, "paid": false }';
    });
    const simulated = await tried(log, other, { onMiss: { simulate } });
    expect(asked[0]).toContain("Looks an order up.");
    expect(simulated.sessions[0]).toMatchObject({ misses: [{ policy: "simulate" }] });
    expect(simulated.sessions[0]?.turns[0]?.steps[0]?.candidate?.calls[0]?.result).toContain(
      '"paid":false',
    );
    const answered = await tried(log, other, {
      onMiss: ({ toolName, recorded: known }) =>
        toolName === "lookup" && known.length === 1 ? { error: "No such order." } : undefined,
    });
    expect(answered.sessions[0]?.turns[0]?.steps[0]?.candidate?.calls[0]).toMatchObject({
      outcome: "failed",
    });
  });

  it("is compared with inputs that mean the same to the program", async () => {
    const report = await tried(await recorded(), [lookup(99), refund(17), "Paid back."], {
      same: (name, one, other) =>
        name === "lookup" || JSON.stringify(one) === JSON.stringify(other),
    });
    expect(report.counts).toMatchObject({ equal: 1, misses: 0 });
  });

  it("is stopped before its budget is passed, and where no price is known", async () => {
    const log = await recorded();
    const limits = { "turnlog:scripted": { prices: { input: 1000, output: 1000 } } };
    const priced = (): Agent => agentOf(answers, { context: { limits }, maxOutputTokens: 10 });
    const tight = await compare(log, { agent: priced, budget: { dollars: 0.2 } });
    expect(tight.sessions[0]?.stopped).toMatchObject({ at: "budget" });
    const wide = await compare(log, {
      agent: priced,
      budget: { dollars: 900 },
      allow: ["settings"],
    });
    expect(wide.counts).toMatchObject({ equal: 1 });
    const elsewhere = agentOf([]);
    const { sessions } = await compare(log, {
      agent: {
        ...priced(),
        model: elsewhere.model,
        prepareStep: () => ({ model: priced().model }),
      },
      budget: { dollars: 0.2 },
    });
    expect(sessions[0]?.stopped).toMatchObject({ at: "budget" });
    await expect(tried(log, answers, { budget: { dollars: 100 } })).rejects.toThrow(
      "No price of turnlog:scripted is known",
    );
  });
});

describe("many sessions", () => {
  it("are compared though one lacks a file", async () => {
    const log = await recorded();
    {
      const picture = png({ width: 200, height: 100, seed: 1 });
      const agent = agentOf(["A picture."]);
      await using runtime = await createRuntime({ log, agent, blobs: { store: memoryBlobs() } });
      const session = await runtime.session("s2");
      const file = { type: "file", mediaType: "image/png", data: picture } as const;
      await (
        await session.send([file])
      ).result;
    }
    const { sessions } = await tried(log, answers);
    expect(sessions.map(({ verdict, stopped }) => [verdict, stopped?.why])).toEqual([
      ["stopped", "A file of the recording is missing: give its `blobs`."],
      ["equal", undefined],
    ]);
  });

  it("are compared though one cannot be read", async () => {
    const log = await recorded();
    {
      const options = { log: encryptedLog(log, memoryKeys()), agent: agentOf(["Secret."]) };
      await using runtime = await createRuntime(options);
      await (
        await (await runtime.session("s2")).send("Go.")
      ).result;
    }
    const { sessions } = await tried(log, answers, { sessions: ["s1", "s2"] });
    expect(sessions.map(({ verdict }) => verdict)).toEqual(["equal", "stopped"]);
    expect(sessions[1]?.stopped?.why).toMatch(/key/u);
  });

  it("are compared at once, several times each, and scored; a writing tool never runs", async () => {
    const log = await recorded(5);
    const report = await tried(log, [lookup(17), "I cannot."], {
      runs: 20,
      scores: { refunds: ({ steps }) => steps.flatMap(({ calls }) => calls).length },
    });
    expect(report.counts).toMatchObject({ sessions: 5, runs: 100, worse: 100 });
    expect(report.scores["refunds"]).toMatchObject({ recorded: 2, candidate: 1 });
    expect(report.first).toHaveLength(10);
    expect(effects.count).toBe(0);
    expect(htmlOf(report)).toContain("s3");
    expect(junitOf(report)).toContain("<testcase");
  });

  it("are kept as sessions, and not compared again", async () => {
    const log = await recorded(3);
    await using results = await openMemoryLog();
    let calls = 0;
    const counted: CompareOptions = {
      experiment: "e",
      results,
      agent: () => {
        calls += 1;
        return agentOf(answers);
      },
    };
    const first = await compare(log, { ...counted, sessions: ["s1", "s2"] });
    const made = calls;
    const kept = await Array.fromAsync(results.list());
    expect(kept.map(({ session }) => session)).toEqual(["e/s1/1", "e/s2/1"]);
    await compare(log, counted);
    // Reading the agent for its description, three times; running it for the third session.
    expect(calls - made).toBeLessThan(made + 3);
    expect((await compare(log, { ...counted, sessions: ["s1", "s2"] })).counts).toEqual(
      first.counts,
    );
    const other = agentOf(answers, { instructions: "You do not help.", stopWhen: stepCountIs(9) });
    await expect(compare(log, { ...counted, agent: other })).rejects.toThrow(
      "Give the experiment another name",
    );
  });

  it("are closed where they are kept, and never go on, also one that stopped within a turn", async () => {
    const log = await recorded(1, "And?");
    await using results = await openMemoryLog();
    const missing = [lookup(17), refund(18), "Paid back."];
    const stopped = await tried(log, missing, { results, experiment: "stopped" });
    expect(stopped.counts).toMatchObject({ stopped: 1 });
    const kept = await Array.fromAsync(results.read("stopped/s1/1"));
    const ofTurns = kept.filter(({ type }) => /^turn[.]|^message[.]w/.test(type));
    expect(ofTurns.map(({ type }) => type)).toEqual([
      "turn.started",
      "message.withdrawn",
      "turn.cancel-requested",
      "turn.ended",
    ]);
    // Not asked a second time.
    const again = await tried(log, [], { results, experiment: "stopped" });
    expect(again.sessions).toEqual(stopped.sessions);
    await expect(
      tried(log, [], { results, experiment: "stopped", onMiss: { live: ["refund"] } }),
    ).rejects.toThrow("policy");
    await tried(log, answers, { results, experiment: "e" });
    const agent = agentOf([refund(18)]);
    await using runtime = await createRuntime({ log: results, agent, recovery: "continue" });
    for (const name of ["e/s1/1", "stopped/s1/1"]) {
      await expect((await runtime.session(name)).send("Go on.")).rejects.toMatchObject({
        code: "SESSION_CLOSED",
      });
      expect((await verifySession(results, name, { every: 1 })).problems).toEqual([]);
    }
    expect(effects.count).toBe(0);
  });

  it("that cannot be tried fail alone", async () => {
    const log = await recorded(1);
    const events = await Array.fromAsync(log.read("s1"));
    const report = await compare(
      [
        { session: "whole", events },
        { session: "torn", events: events.slice(1) },
      ],
      { agent: agentOf(answers) },
    );
    expect(report.counts).toMatchObject({ equal: 1, stopped: 1 });
  });

  it("that are none are refused", async () => {
    await using log = await openMemoryLog();
    await expect(tried(log, answers)).rejects.toThrow("There is no session to compare");
  });
});
