/** A process that starts continues what others left unfinished, and opens nothing else. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import type { TurnlogError } from "../../src/events/index.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { eventually } from "../support/eventually.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { severableLog } from "../support/severed-log.ts";

const pay = tool({ inputSchema: z.object({}), execute: () => 1 });
const fine: Agent = { model: scriptedModel(() => "Fine.") };

/** A store in which a process died: `running` in mid-call, `asking` waits for a person, `idle` rests. */
async function leftBehind(): Promise<EventLog> {
  const log = await openMemoryLog();
  const mortal = severableLog(log);
  const hold = gate();
  const model = scriptedModel((prompt) =>
    JSON.stringify(prompt).includes("Pay")
      ? calling(call("pay", "1"))
      : JSON.stringify(prompt).includes("Hang")
        ? { parts: [{ type: "text", deltas: [hold, "never"] }] }
        : "Fine.",
  );
  const agent: Agent = { model, tools: { pay }, toolApproval: { pay: "user-approval" } };
  const runtime = await createRuntime({ log: mortal, agent, graceMs: 1 });
  const opened = async (id: string, userId: string) =>
    await runtime.session(id, { metadata: { userId } });
  await (
    await (await opened("idle", "u")).send("Hello.")
  ).result;
  await (await opened("asking", "u")).send("Pay.");
  await (await runtime.session("asking")).atRest();
  for (const [id, user] of [
    ["running", "u"],
    ["running-2", "v"],
  ] as const) {
    const session = await opened(id, user);
    await session.send("Hang.");
    await seen(session, "step.started");
  }
  await runtime.session("held");
  mortal.sever();
  // A message whose turn the process did not begin.
  const message = { id: "m", content: "Go.", delivery: "follow-up" } as const;
  const now = { time: 1, type: "message.queued", data: message } as const;
  await log.append("held", await log.revision("held"), [now]);
  return log;
}

async function recoveries(log: EventLog): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { session } of log.list()) {
    const events = await storedEvents(log, session);
    if (events.some(({ type }) => type === "session.recovered")) found.push(session);
  }
  return found;
}

describe("resumeAll", () => {
  it("continues the sessions in mid-turn and those whose turn never began, and no others", async () => {
    const log = await leftBehind();
    await using runtime = await createRuntime({ log, agent: fine, recovery: "continue" });
    const { resumed, failed, scheduled } = await runtime.resumeAll();
    expect([resumed.toSorted(), failed, scheduled]).toEqual([
      ["held", "running", "running-2"],
      [],
      [],
    ]);
    expect(await recoveries(log)).toEqual(["held", "running", "running-2"]);
    for (const id of resumed)
      expect(await (await runtime.session(id)).view()).toMatchObject({
        summary: { status: "idle", lastEnd: "stop" },
      });
    expect(await runtime.resumeAll()).toEqual({ resumed: [], failed: [], scheduled: [] });
  });

  it("ends the turns under `stop`, and keeps what waits", async () => {
    const log = await leftBehind();
    await using runtime = await createRuntime({ log, agent: fine });
    const { resumed } = await runtime.resumeAll();
    expect(resumed.toSorted()).toEqual(["held", "running", "running-2"]);
    expect(await (await runtime.session("running")).view()).toMatchObject({
      summary: { lastEnd: "interrupted" },
    });
    expect((await (await runtime.session("held")).view()).queue).toMatchObject([{ id: "m" }]);
    // A held message is nothing to resume.
    await runtime.close();
    await using next = await createRuntime({ log, agent: fine });
    expect((await next.resumeAll()).resumed).toEqual([]);
  });

  it("takes the sessions of some metadata only", async () => {
    const log = await leftBehind();
    await using runtime = await createRuntime({ log, agent: fine });
    expect((await runtime.resumeAll({ where: { userId: "v" } })).resumed).toEqual(["running-2"]);
  });

  it("names the session that cannot be resumed, and continues with the others", async () => {
    const log = await leftBehind();
    const agent = ({ id }: { readonly id: string }): Agent => {
      if (id === "running") throw new Error("No agent for it.");
      return fine;
    };
    await using runtime = await createRuntime({ log, agent, recovery: "continue" });
    const { resumed, failed } = await runtime.resumeAll({ concurrency: 1 });
    expect(resumed).toEqual(["held", "running-2"]);
    expect(failed).toMatchObject([{ session: "running", error: { code: "CALLBACK_FAILED" } }]);
  });

  it("runs no more turns side by side than it is allowed", async () => {
    const log = await leftBehind();
    let [running, most] = [0, 0];
    const model = scriptedModel(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((next) => setImmediate(next));
      running -= 1;
      return "Fine.";
    });
    await using runtime = await createRuntime({ log, agent: { model }, recovery: "continue" });
    await runtime.resumeAll({ concurrency: 1 });
    expect(most).toBe(1);
  });

  it("is refused by a closed runtime, and stops when the runtime is closed", async () => {
    const log = await leftBehind();
    const hold = gate();
    const model = scriptedModel(() => ({ parts: [{ type: "text", deltas: [hold, "…"] }] }));
    const options = { log, agent: { model }, recovery: "continue", graceMs: 1 } as const;
    const runtime = await createRuntime(options);
    const resuming = runtime.resumeAll({ concurrency: 1 });
    resuming.catch(() => {});
    await hold.reached;
    await runtime.close();
    await expect(resuming).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
    await expect(runtime.resumeAll()).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
  });
});

describe("the sessions that nothing is left to do in", () => {
  /** Sessions with a turn that has ended, half of which have a message for later; their process died. */
  async function resting(count: number): Promise<EventLog> {
    const log = await openMemoryLog();
    const mortal = severableLog(log);
    const limits = { perKey: { userId: { tokens: 1_000_000 } } };
    const runtime = await createRuntime({ log: mortal, agent: fine, limits });
    const names = Array.from({ length: count }, (_, index) => `s-${index}`);
    const play = async (name: string, index: number): Promise<void> => {
      const session = await runtime.session(name, { metadata: { userId: "u" } });
      await (
        await session.send("Hello.")
      ).result;
      if (index % 2 === 0) await session.send("Later.", { notBefore: new Date(2 ** 42) });
    };
    await Promise.all(names.map(play));
    // Snapshots follow the events.
    await eventually(async () => {
      const stored = (await log.loadSnapshots?.(names, "session-summary")) ?? [];
      const revisions = await Promise.all(names.map((name) => log.revision(name)));
      expect(stored.map((snapshot) => snapshot?.position)).toEqual(revisions);
    });
    mortal.sever();
    return log;
  }

  it.each([4, 20])("are not read: %i of them", async (count) => {
    const log = await resting(count);
    const asked: string[] = [];
    const counted = wrapLog(log, {
      list: (...list) => (asked.push("list"), log.list(...list)),
      loadSnapshots: async (...many) => (
        asked.push("loadSnapshots"),
        (await log.loadSnapshots?.(...many)) ?? []
      ),
      loadSnapshot: (...one) => (asked.push("loadSnapshot"), log.loadSnapshot(...one)),
      read: (...read) => (asked.push("read"), log.read(...read)),
      readAt: (...read) => (asked.push("readAt"), log.readAt(...read)),
      revision: (session) => (asked.push("revision"), log.revision(session)),
    });
    const limits = { perKey: { userId: { tokens: 1_000_000 } } };
    await using runtime = await createRuntime({ log: counted, agent: fine, limits });
    const { resumed, scheduled, failed } = await runtime.resumeAll();
    expect([resumed, scheduled.length, failed]).toEqual([[], count / 2, []]);
    expect(asked).toEqual(["list", "loadSnapshots"]);
  });
});

describe("createRuntime with resume", () => {
  it("resumes in the background, and warns about each session that it cannot", async () => {
    const log = await leftBehind();
    const warnings: TurnlogError[] = [];
    const warned = Promise.withResolvers<void>();
    const agent = ({ id }: { readonly id: string }): Agent => {
      if (id === "running-2") throw new Error("No agent for it.");
      return fine;
    };
    await using _ = await createRuntime({
      log,
      agent,
      resume: "all",
      recovery: "continue",
      onWarning: (warning) => {
        warnings.push(warning);
        warned.resolve();
      },
    });
    await warned.promise;
    expect(warnings).toMatchObject([{ code: "CALLBACK_FAILED", session: "running-2" }]);
    expect(await recoveries(log)).toEqual(["held", "running"]);
  });
});

describe("after an upgrade", () => {
  const summary = { projection: "session-summary" };

  /** Two sessions with summaries that another release stored. */
  async function upgraded(): Promise<EventLog> {
    const log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent: fine });
    for (const id of ["a", "b"]) await (await (await runtime.session(id)).send("Hello.")).result;
    await runtime.close();
    for (const id of ["a", "b"])
      await log.saveSnapshot(id, { ...summary, version: 0, position: 3, state: {} });
    return log;
  }

  /** A log that tells its changes, as lists in memory need. */
  function telling(log: EventLog, changes: Partial<EventLog>): EventLog {
    const onChange = log.onChange?.bind(log);
    return wrapLog(log, { ...changes, ...(onChange === undefined ? {} : { onChange }) });
  }

  /** The sessions whose events are read. */
  async function readBy(
    log: EventLog,
    act: (runtime: Runtime) => Promise<unknown>,
  ): Promise<readonly string[]> {
    const read: string[] = [];
    const watched = telling(log, {
      read: (session, options) => {
        read.push(session);
        return log.read(session, options);
      },
    });
    await using runtime = await createRuntime({ log: watched, agent: fine });
    await act(runtime);
    return read.toSorted();
  }

  it.each([
    ["resuming", (runtime: Runtime) => runtime.resumeAll()],
    [
      "the first filtered list",
      (runtime: Runtime) => Array.fromAsync(runtime.sessions({ status: "closed" })),
    ],
  ])("%s reads each session once, and stores its summary anew", async (_, act) => {
    const log = await upgraded();
    expect(await readBy(log, act)).toEqual(["a", "b"]);
    expect(await readBy(log, act)).toEqual([]);
  });

  it("a summary that cannot be stored is a warning, and the list has its session", async () => {
    const log = await upgraded();
    const full = telling(log, {
      saveSnapshot: () => Promise.reject(new Error("The disk is full.")),
    });
    const warned: TurnlogError[] = [];
    await using runtime = await createRuntime({
      log: full,
      agent: fine,
      onWarning: (error) => warned.push(error),
    });
    expect(await Array.fromAsync(runtime.sessions({ status: "idle" }))).toHaveLength(2);
    expect(warned.map(({ code, session }) => [code, session])).toEqual([
      ["LOG_FAILED", "a"],
      ["LOG_FAILED", "b"],
    ]);
  });
});

it("does not wait for people who answer a sub-agent, nor hold up the sessions behind it", async () => {
  await using log = await openMemoryLog();
  // The call of `c` is on record, and the session of its sub-agent is not there yet.
  const mortal = severableLog(
    wrapLog(log, {
      append: (session, ...append) =>
        session.startsWith("c/") ? new Promise<never>(() => {}) : log.append(session, ...append),
    }),
  );
  const paying: Agent = {
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "tool" ? "Paid." : calling(call("pay", "1")),
    ),
    tools: { pay },
    toolApproval: { pay: "user-approval" },
  };
  const agent: Agent = {
    model: scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === "tool"
        ? "All is done."
        : calling(call("help", "1", { task: "Pay." })),
    ),
    tools: { help: agentTool({ agent: paying, description: "Pays." }) },
  };
  const dead = await createRuntime({ log: mortal, agent, graceMs: 1 });
  for (const id of ["a", "b", "c"]) await (await dead.session(id)).send("Go.");
  await eventually(async () => expect(await dead.approvals()).toHaveLength(2));
  await seen(await dead.session("c"), "tool.started");
  mortal.sever();
  await using runtime = await createRuntime({ log, agent, recovery: "continue" });
  const { resumed, failed } = await runtime.resumeAll({ concurrency: 1 });
  expect(failed).toEqual([]);
  expect(resumed.filter((id) => !id.includes("/"))).toEqual(["a", "b", "c"]);
  const questions = await runtime.approvals();
  expect(questions).toHaveLength(3);
  for (const question of questions)
    if (question.kind === "approval")
      await (await runtime.session(question.session)).approve(question.approval.approvalId);
  for (const id of ["a", "b", "c"]) {
    const session = await runtime.session(id);
    await session.idle();
    expect((await session.view()).summary.lastEnd).toBe("stop");
  }
});
