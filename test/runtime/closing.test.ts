/** One session in several hands, and runtimes that are closed while something runs. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession, reopen } from "../support/with-runtime.ts";

describe("two handles of one session", () => {
  it("are one session: what is sent by one is seen, cancelled and waited for by the other", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold), "Two."]);
    await using open = await openSession({ model });
    const other = await open.runtime.session("s");
    const turn = await open.session.send("Go.");
    await hold.reached;
    const second = await other.send("And this.");
    expect(second.queued).toBe(true);
    expect(await other.view()).toEqual(await open.session.view());
    await other.cancel();
    expect((await turn.result).finishReason).toBe("cancelled");
    await open.session.resume();
    expect(await second.result).toMatchObject({ text: "Two." });
    await open.session.close();
    await expect(other.send("Once more.")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  });

  it("opened at the same time make one session", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: scriptedModel([]) },
    });
    await Promise.all([runtime.session("s"), runtime.session("s"), runtime.session("s")]);
    expect(await runtime.log.revision("s")).toBe(1);
  });
});

it("sessions of one runtime run side by side and do not know of each other", async () => {
  const [one, two] = [gate(), gate()];
  const model = scriptedModel(async ({ prompt }) => {
    const mine = JSON.stringify(prompt).includes("first") ? one : two;
    mine.arrive?.();
    await mine.until;
    return mine === one ? "To the first." : "To the second.";
  });
  await using runtime = await createRuntime({ memory: true, agent: { model } });
  const [first, second] = [await runtime.session("a"), await runtime.session("b")];
  const turns = [await first.send("I am first"), await second.send("I am second")] as const;
  await Promise.all([one.reached, two.reached]);
  two.open();
  expect(await turns[1].result).toMatchObject({ turn: 1, text: "To the second." });
  one.open();
  expect(await turns[0].result).toMatchObject({ turn: 1, text: "To the first." });
  expect((await first.view()).history).not.toEqual((await second.view()).history);
});

describe("closing a runtime", () => {
  it("ends what runs as cancelled, keeps what had come, and waits until it is stored", async () => {
    const hold = gate();
    const folder = await mkdtemp(join(tmpdir(), "turnlog-closing-"));
    const agent = { model: scriptedModel([saying("One ", hold), "Two."]) };
    {
      await using runtime = await createRuntime({ dir: folder, durability: "os", agent });
      const session = await runtime.session("s");
      await session.send("Go.");
      await seen(session, "part.text-delta");
      await session.send("And this.");
    }
    await using runtime = await createRuntime({ dir: folder, durability: "os", agent });
    const session = await runtime.session("s");
    const { history, queue, state } = await session.view();
    expect(state.value).toEqual({ idle: "waiting" });
    expect(history.at(-1)).toMatchObject({ kind: "turn-end", reason: "cancelled" });
    expect(JSON.stringify(history)).toContain('"text":"One "');
    expect(queue).toHaveLength(1);
    for await (const { type } of session.events()) {
      expect(type).not.toBe("session.recovered");
      if (type === "turn.ended") break;
    }
    await session.resume();
    await session.idle();
    expect((await session.view()).summary).toMatchObject({ turns: 2, lastEnd: "stop" });
    await runtime.close();
    await rm(folder, { recursive: true });
  });

  it.each([
    { recovery: "stop", leaveTurns: true },
    { recovery: "continue", leaveTurns: false },
  ] as const)("with $recovery and leaveTurns: $leaveTurns goes by the latter", async (given) => {
    const { recovery, leaveTurns } = given;
    const log = await openMemoryLog();
    const stuck = scriptedModel([saying("One ", gate())]);
    const runtime = await createRuntime({ log, recovery, agent: { model: stuck } });
    const session = await runtime.session("s");
    const { messageId } = await session.send("Go.");
    await seen(session, "part.text-delta");
    // @ts-expect-error The option is true or false.
    await expect(runtime.close({ leaveTurns: 1 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await runtime.close({ leaveTurns });
    const agent = { model: scriptedModel(["Whole."]) };
    await using next = await createRuntime({ log, recovery: "continue", agent });
    const turn = await (await next.session("s")).turn(messageId);
    expect(await turn.result).toMatchObject(
      leaveTurns
        ? { finishReason: "stop", text: "Whole." }
        : { finishReason: "cancelled", text: "One " },
    );
  });

  it("settles the results that somebody waits for, and refuses what comes afterwards", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold)]);
    const runtime = await createRuntime({ memory: true, agent: { model } });
    const session = await runtime.session("s");
    const turn = await session.send("Go.");
    const result = turn.result;
    const events = Array.fromAsync(turn);
    await seen(session, "part.text-delta");
    await Promise.all([runtime.close(), runtime.close()]);
    expect(await result).toMatchObject({ finishReason: "cancelled", text: "One " });
    expect((await events).at(-1)).toMatchObject({ type: "turn.ended" });
    const closed = { code: "RUNTIME_CLOSED", session: "s" };
    await expect(session.send("Again.")).rejects.toMatchObject(closed);
    await expect(session.view()).rejects.toMatchObject(closed);
    await expect(runtime.session("t")).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
    // What is about all sessions names none.
    for (const call of [
      () => runtime.bill(),
      () => runtime.resumeAll(),
      () => runtime.collectBlobs(),
    ])
      await expect(call()).rejects.toMatchObject({
        message: expect.stringMatching(/^The runtime is closed/) as string,
      });
  });

  it("hurries a turn that was to stop after its tools", async () => {
    const deaf = tool({ inputSchema: z.object({}), execute: () => new Promise<string>(() => {}) });
    const agent = { tools: { deaf }, model: scriptedModel([calling(call("deaf", "1")), "I see."]) };
    await using open = await openSession(agent);
    await open.session.send("Go.");
    await seen(open.session, "tool.started");
    const cancelled = open.session.cancel({ mode: "after-tools" });
    await seen(open.session, "turn.cancel-requested");
    await open.runtime.close();
    expect(await cancelled).toMatchObject({
      ended: "cancelled",
      kept: { calls: [{ status: "unknown" }] },
    });
  });

  it("does not wait for a tool that does not listen", async () => {
    const deaf = tool({ inputSchema: z.object({}), execute: () => new Promise<string>(() => {}) });
    const agent = { tools: { deaf }, model: scriptedModel([calling(call("deaf", "1")), "I see."]) };
    await using open = await openSession(agent);
    await open.session.send("Go.");
    await seen(open.session, "tool.started");
    await open.runtime.close();
    expect(await open.types()).toContain("tool.unknown");
    await using again = await reopen(open, agent);
    expect((await (await again.session.send("And?")).result).text).toBe("I see.");
  });

  it("leaves a log of the user's own open", async () => {
    await using log = await openMemoryLog();
    const runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
    await runtime.session("s");
    await runtime.close();
    expect(await log.revision("s")).toBe(1);
  });
});
