/** A process that starts continues what others left unfinished, and opens nothing else. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, type Agent, type EventLog } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import type { TurnlogError } from "../../src/events/index.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
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

  it("names the session that cannot be resumed, and goes on with the others", async () => {
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
