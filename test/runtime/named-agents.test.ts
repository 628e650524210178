/** An agent for each session: by a name that the log keeps, or by the answer of a function. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { prepareAgent } from "../../src/agent/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { SessionAgent } from "../../src/runtime/live/agent-registry.ts";
import { ask } from "../support/asking.ts";
import { lawProblems } from "../support/law-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { severableLog } from "../support/severed-log.ts";

/** An agent whose replies say its name. */
function agentThatSays(name: string): Agent {
  return { model: scriptedModel(() => `I am ${name}.`), instructions: `You are ${name}.` };
}

const agents = { support: agentThatSays("support"), coder: agentThatSays("coder") };

function namesIn(log: EventLog, session: string): Promise<readonly (string | undefined)[]> {
  return Array.fromAsync(log.read(session)).then((events) =>
    events.flatMap(({ type, data }) =>
      type === "session.created" || type === "session.configured" || type === "session.forked"
        ? [data.agent?.name]
        : [],
    ),
  );
}

async function named(log: EventLog): Promise<Runtime> {
  return await createRuntime({ log, agents });
}

describe("a runtime with named agents", () => {
  it("runs each session by the agent that it was created with, in the next process too", async () => {
    await using log = await openMemoryLog();
    await using first = await named(log);
    for (const name of ["support", "coder"] as const) {
      const session = await first.session(name, { agent: name });
      expect(await ask(session, "Who are you?")).toBe(`I am ${name}.`);
    }
    await first.close();
    await using second = await named(log);
    for (const name of ["support", "coder"] as const) {
      expect(await ask(await second.session(name), "And now?")).toBe(`I am ${name}.`);
      expect(await namesIn(log, name)).toEqual([name]);
      expect(lawProblems(await storedEvents(log, name))).toEqual([]);
    }
    const listed = await Array.fromAsync(second.sessions());
    expect(listed.map(({ agent }) => agent)).toEqual(["coder", "support"]);
  });

  it("keeps the name of an agent that gets the tools of MCP servers", async () => {
    const { coder } = agents;
    const own = new SessionAgent(coder, await prepareAgent(coder), "coder");
    const say = { name: "own__say", server: "own", tool: "say", inputSchema: { type: "object" } };
    const { description } = await own.equip({ tools: [say], missing: [] }, async () => "said");
    expect(description).toMatchObject({ name: "coder", mcp: { tools: [say] } });
  });

  it("finishes a turn of a dead process by the session's own agent", async () => {
    await using log = await openMemoryLog();
    const work = tool({ inputSchema: z.object({}), execute: () => new Promise<string>(() => {}) });
    const dying = (): Agent => ({
      model: scriptedModel([calling(call("work", "1"))]),
      tools: { work },
    });
    const mortal = severableLog(log);
    const first = await createRuntime({
      log: mortal,
      agents: { support: agents.support, coder: dying() },
    });
    const session = await first.session("s", { agent: "coder" });
    await session.send("Work.", { id: "m" });
    await seen(session, "tool.started");
    mortal.sever();
    const coder = { model: scriptedModel(["The coder went on."]), tools: { work } };
    await using second = await createRuntime({
      log,
      agents: { support: agents.support, coder },
      recovery: "continue",
    });
    const { text } = await (await (await second.session("s")).turn("m")).result;
    expect(text).toBe("The coder went on.");
  });

  it("refuses a name that it does not have, with the nearest one, and creates nothing", async () => {
    await using log = await openMemoryLog();
    await using runtime = await named(log);
    await expect(runtime.session("s", { agent: "codr" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      details: { option: "agent", nearest: "coder" },
    });
    await expect(runtime.session("s")).rejects.toThrow(
      "session s needs the name of its agent, since this runtime has the agents `support`, `coder`.",
    );
    expect(await Array.fromAsync(log.list())).toEqual([]);
  });

  it("refuses to open a session by another agent than its own", async () => {
    await using log = await openMemoryLog();
    await using runtime = await named(log);
    await runtime.session("s", { agent: "coder" });
    const opened = runtime.session("s", { agent: "support" });
    await expect(opened).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
      details: { agent: "coder", asked: "support" },
    });
    expect(await ask(await runtime.session("s", { agent: "coder" }), "Who?")).toBe("I am coder.");
  });

  it("takes over a session of a runtime with one agent, and one whose agent is gone", async () => {
    await using log = await openMemoryLog();
    await using plain = await createRuntime({ log, agent: agentThatSays("nobody") });
    await ask(await plain.session("s"), "Who are you?");
    await plain.close();
    await using runtime = await named(log);
    await expect(runtime.session("s")).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(await ask(await runtime.session("s", { agent: "coder" }), "And now?")).toBe(
      "I am coder.",
    );
    await runtime.close();
    await using other = await createRuntime({ log, agents: { support: agents.support } });
    await expect(other.session("s")).rejects.toMatchObject({
      code: "AGENT_MISSING",
      session: "s",
      details: { agent: "coder", agents: ["support"] },
    });
    const session = await other.session("s", { agent: "support" });
    expect(await ask(session, "And now?")).toBe("I am support.");
    expect(await namesIn(log, "s")).toEqual([undefined, "coder", "support"]);
  });

  it("runs forks and reruns by the agent of their origin, in the next process too", async () => {
    await using log = await openMemoryLog();
    await using first = await named(log);
    const session = await first.session("s", { agent: "coder" });
    await ask(session, "Who are you?");
    const fork = await session.fork({ id: "f" });
    expect(await ask(fork, "And you?")).toBe("I am coder.");
    const { turn } = await session.rerun({ id: "r" });
    expect((await turn.result).text).toBe("I am coder.");
    await session.fork({ id: "g", agent: "support" });
    await session.fork({ id: "b", instructions: "Be brief." });
    await first.close();
    await using second = await named(log);
    const answers = ["f", "r", "g", "b"].map(async (id) => ask(await second.session(id), "Who?"));
    expect(await Promise.all(answers)).toEqual([
      "I am coder.",
      "I am coder.",
      "I am support.",
      "I am coder.",
    ]);
    await expect(session.fork({ agent: "suport" })).rejects.toMatchObject({
      code: "RUNTIME_CLOSED",
    });
    const refused = (await second.session("f")).fork({ agent: "suport" });
    await expect(refused).rejects.toMatchObject({ details: { nearest: "support" } });
  });

  it("has sessions that replay as they were recorded", async () => {
    await using log = await openMemoryLog();
    await using runtime = await named(log);
    const session = await runtime.session("s", { agent: "coder" });
    await ask(session, "Who are you?");
    const { difference } = await replay(await storedEvents(log, "s"), agents.coder);
    expect(difference).toBeUndefined();
  });
});

describe("session.configure", () => {
  it("records another name of the same agent", async () => {
    await using log = await openMemoryLog();
    const twins = { one: agents.coder, other: agents.coder };
    await using runtime = await createRuntime({ log, agents: twins });
    const session = await runtime.session("s", { agent: "one" });
    await session.configure({ agent: "other" });
    expect(await namesIn(log, "s")).toEqual(["one", "other"]);
  });

  it("changes the agent between turns, for the next process too", async () => {
    await using log = await openMemoryLog();
    await using first = await named(log);
    const session = await first.session("s", { agent: "support" });
    await ask(session, "Who are you?");
    await session.configure({ agent: "coder" });
    expect(await namesIn(log, "s")).toEqual(["support", "coder"]);
    expect(await ask(session, "And now?")).toBe("I am coder.");
    await session.configure({ agent: "coder" });
    expect(await namesIn(log, "s")).toEqual(["support", "coder"]);
    await first.close();
    await using second = await named(log);
    expect(await ask(await second.session("s"), "And now?")).toBe("I am coder.");
    expect(lawProblems(await storedEvents(log, "s"))).toEqual([]);
  });

  it("changes the model while the runtime is open, and records it", async () => {
    await using runtime = await createRuntime({ memory: true, agent: agentThatSays("one") });
    const session = await runtime.session("s");
    await ask(session, "Who?");
    const other = { ...scriptedModel(() => "I am another."), modelId: "other" };
    await session.configure({ model: other });
    expect(await ask(session, "Who?")).toBe("I am another.");
    const events = await storedEvents(runtime.log, "s");
    expect(events.find(({ type }) => type === "session.configured")?.data).toMatchObject({
      agent: { model: { modelId: "other" } },
    });
  });

  it("is refused during a turn, and changes nothing", async () => {
    const pay = tool({ inputSchema: z.object({}), execute: () => 1 });
    const model = scriptedModel([calling(call("pay", "1")), "Paid."]);
    await using runtime = await createRuntime({
      memory: true,
      agents: {
        ...agents,
        payer: { model, tools: { pay }, toolApproval: { pay: "user-approval" } },
      },
    });
    const session = await runtime.session("s", { agent: "payer" });
    const turn = await session.send("Pay.");
    const { approvals } = await session.atRest();
    await expect(session.configure({ agent: "coder" })).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await session.approve(approvals[0]?.approvalId ?? "");
    expect((await turn.result).text).toBe("Paid.");
    expect(await namesIn(runtime.log, "s")).toEqual(["payer"]);
  });

  it("loses no message that is sent meanwhile", async () => {
    await using runtime = await createRuntime({ memory: true, agents });
    const session = await runtime.session("s", { agent: "support" });
    const sent = Array.from({ length: 5 }, (_, index) => session.send(`Message ${index}.`));
    const configured = session.configure({ agent: "coder" }).catch(() => "refused");
    const texts = await Promise.all(sent.map(async (turn) => (await (await turn).result).text));
    expect(texts).toHaveLength(5);
    await configured;
    await session.configure({ agent: "coder" });
    expect(await ask(session, "Who?")).toBe("I am coder.");
    expect(lawProblems(await storedEvents(runtime.log, "s"))).toEqual([]);
  });
});

describe("an agent by a function", () => {
  const agent = ({ id }: { readonly id: string }): Agent =>
    id.startsWith("code-") ? agents.coder : agents.support;

  it("is asked for each session, and for each fork by its own id", async () => {
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("code-1");
    expect(await ask(session, "Who?")).toBe("I am coder.");
    expect(await ask(await runtime.session("talk-1"), "Who?")).toBe("I am support.");
    expect(await ask(await session.fork({ id: "talk-2" }), "Who?")).toBe("I am support.");
  });

  it("may be a promise; one that fails or is wrong opens nothing and names itself", async () => {
    const wrong = { model: scriptedModel([]), maxStep: 3 };
    await using runtime = await createRuntime({
      memory: true,
      agent: async ({ id }) => {
        if (id === "bad") throw new Error("no tenant");
        return id === "wrong" ? wrong : agents.coder;
      },
    });
    expect(await ask(await runtime.session("s"), "Who?")).toBe("I am coder.");
    await expect(runtime.session("bad")).rejects.toMatchObject({ code: "CALLBACK_FAILED" });
    await expect(runtime.session("wrong")).rejects.toMatchObject({
      code: "INVALID_INPUT",
      session: "wrong",
      details: { option: "agent.maxStep", nearest: "maxSteps" },
    });
    expect((await Array.fromAsync(runtime.log.list())).map(({ session }) => session)).toEqual([
      "s",
    ]);
  });
});
