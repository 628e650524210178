/** Tools that run longer than they may. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession, reopen } from "../support/with-runtime.ts";
import { containing, echo, endOf, nothing } from "./tools.ts";

describe("a tool whose time is up", () => {
  const slow = { inputSchema: nothing };

  it("is asked to stop, and has failed when it does", async () => {
    const obedient = tool({
      ...slow,
      execute: async (_, { abortSignal }) => {
        const stopped = Promise.withResolvers<string>();
        abortSignal?.addEventListener("abort", () => stopped.reject(abortSignal.reason));
        return await stopped.promise;
      },
    });
    const model = scriptedModel([calling(call("obedient", "1")), "Done."]);
    await using open = await openSession(
      { model, tools: { obedient }, timeout: { toolMs: 1 } },
      { graceMs: 60_000 },
    );
    await (
      await open.session.send("Go.")
    ).result;
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.failed",
      data: {
        error: { name: "TimeoutError", message: containing("longer than 1 ms") },
      },
    });
  });

  it("is abandoned when it does not stop: its outcome is unknown, and the model reads that", async () => {
    const late = gate();
    const deaf = tool({
      ...slow,
      execute: async () => {
        await late.until;
        return "too late";
      },
    });
    const model = scriptedModel([
      calling(call("deaf", "1"), call("echo", "2", { value: 2 })),
      "Done.",
    ]);
    await using open = await openSession({
      model,
      tools: { deaf, echo },
      timeout: { tools: { deafMs: 1 } },
    });
    await (
      await open.session.send("Go.")
    ).result;
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.unknown",
      data: { reason: "timed-out" },
    });
    expect(await endOf(open, "2")).toMatchObject({ type: "tool.succeeded" });
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("Outcome unknown");
    const before = (await open.session.view()).position;
    late.open();
    await late.until;
    await (await reopen(open, { model: scriptedModel([]) })).runtime.close();
    expect((await open.events()).slice(before).map(({ type }) => type)).toEqual([
      "session.configured",
    ]);
  });

  it("may run as long as it likes when no limit is set for it by name", async () => {
    const ready = gate();
    const patient = tool({
      ...slow,
      execute: async () => {
        ready.arrive?.();
        await ready.until;
        return "at last";
      },
    });
    const deaf = tool({ ...slow, execute: () => new Promise<string>(() => {}) });
    const model = scriptedModel([calling(call("patient", "1"), call("deaf", "2")), "Done."]);
    await using open = await openSession({
      model,
      tools: { patient, deaf },
      timeout: { tools: { deafMs: 1 } },
    });
    const turn = await open.session.send("Go.");
    await seen(open.session, "tool.unknown", ({ callId }) => callId === "2");
    ready.open();
    await turn.result;
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.succeeded",
      data: { output: "at last" },
    });
  });
});
