/** Sessions that are not in use are let go of, and come back from their log as they were. */

import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, type EventLog } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession } from "../support/with-runtime.ts";
import { wrapLog } from "../../src/replay/index.ts";

const IDLE_AFTER_MS = 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Counts how often a session is brought back from its log. */
async function watchedLog(): Promise<{ readonly log: EventLog; readonly woken: () => number }> {
  const log = await openMemoryLog();
  let loads = 0;
  const loadSnapshot: EventLog["loadSnapshot"] = (session, projection) => {
    if (projection === "session") loads += 1;
    return log.loadSnapshot(session, projection);
  };
  return { log: wrapLog(log, { loadSnapshot }), woken: () => loads };
}

describe("a session", () => {
  it.each([
    [60_000, {}],
    [IDLE_AFTER_MS, { idleAfterMs: IDLE_AFTER_MS }],
  ])("is let go of when idle for %d ms, and is the same when back", async (idle, options) => {
    const { log, woken } = await watchedLog();
    const model = scriptedModel(["One.", "Two."]);
    await using open = await openSession({ model }, { log, ...options });
    await (
      await open.session.send("Go.")
    ).result;
    const before = await open.session.view();
    expect(woken()).toBe(1);
    vi.advanceTimersByTime(idle - 1);
    await open.session.view();
    expect(woken()).toBe(1);
    vi.advanceTimersByTime(2);
    const after = await open.session.view();
    expect(woken()).toBe(2);
    expect(after).toStrictEqual(before);
    expect(await (await open.session.send("Go on.")).result).toMatchObject({
      turn: 2,
      text: "Two.",
    });
    expect(woken()).toBe(2);
  });

  it("is kept while its turn runs, however long that takes", async () => {
    const { log, woken } = await watchedLog();
    const hold = gate();
    const model = scriptedModel([saying("One ", hold, "two.")]);
    await using open = await openSession({ model }, { log, idleAfterMs: IDLE_AFTER_MS });
    const turn = await open.session.send("Go.");
    await hold.reached;
    vi.advanceTimersByTime(10 * IDLE_AFTER_MS);
    await open.session.view();
    expect(woken()).toBe(1);
    hold.open();
    expect(await turn.result).toMatchObject({ text: "One two." });
  });

  it("continues sleeping while its events are only read", async () => {
    const { log, woken } = await watchedLog();
    const model = scriptedModel(["One."]);
    await using open = await openSession({ model }, { log, idleAfterMs: IDLE_AFTER_MS });
    await (
      await open.session.send("Go.")
    ).result;
    vi.advanceTimersByTime(IDLE_AFTER_MS + 1);
    for await (const { type } of open.session.events()) if (type === "turn.ended") break;
    expect(woken()).toBe(1);
    expect((await open.session.view()).summary.turns).toBe(1);
    expect(woken()).toBe(2);
  });

  it("sleeps while its calls wait for approval, and continues when they are answered", async () => {
    const { log, woken } = await watchedLog();
    const ask = tool({
      inputSchema: z.object({}),
      // Deprecated in favour of a setting of `streamText`; a tool that is taken unchanged has it.
      // oxlint-disable-next-line typescript/no-deprecated
      needsApproval: true,
      execute: () => "done",
    });
    const model = scriptedModel([calling(call("ask", "1")), "Thank you."]);
    const options = { log, idleAfterMs: IDLE_AFTER_MS };
    await using open = await openSession({ model, tools: { ask } }, options);
    await open.session.send("Go.");
    await seen(open.session, "tool.approval-requested");
    const before = await open.session.view();
    vi.advanceTimersByTime(IDLE_AFTER_MS + 1);
    expect(await open.session.view()).toStrictEqual(before);
    expect(woken()).toBe(2);
    await allow(open.session, "1");
    await open.session.idle();
    expect((await open.session.view()).summary).toMatchObject({ turns: 1, lastEnd: "stop" });
    expect(await open.types()).not.toContain("session.recovered");
  });

  it("that waits behind a cancelled turn is still waiting when it is back", async () => {
    const { log, woken } = await watchedLog();
    const hold = gate();
    const model = scriptedModel([saying("One ", hold), "Two."]);
    await using open = await openSession({ model }, { log, idleAfterMs: IDLE_AFTER_MS });
    await open.session.send("Go.");
    await hold.reached;
    const waiting = await open.session.send("Wait.");
    await open.session.cancel();
    vi.advanceTimersByTime(IDLE_AFTER_MS + 1);
    const back = await open.session.view();
    expect(woken()).toBe(2);
    expect(back.queue).toHaveLength(1);
    expect(await open.types()).not.toContain("session.recovered");
    await open.session.resume();
    expect(await waiting.result).toMatchObject({ text: "Two." });
  });

  it.each([1, 2])(
    "is not let go of while its log is slow to write: append %i takes longer than the rest",
    async (slow) => {
      const log = await openMemoryLog();
      const reached = Promise.withResolvers<void>();
      const hold = Promise.withResolvers<void>();
      let appends = 0;
      const slowly: EventLog["append"] = async (...append) => {
        appends += 1;
        if (appends === slow) {
          reached.resolve();
          await hold.promise;
        }
        return await log.append(...append);
      };
      const runtime = await createRuntime({
        log: wrapLog(log, { append: slowly }),
        idleAfterMs: IDLE_AFTER_MS,
        agent: { model: scriptedModel(["One."]) },
      });
      const user = async (): Promise<unknown> => {
        const session = await runtime.session("s");
        await session.close();
        return (await session.view()).state.value;
      };
      const first = user();
      await reached.promise;
      vi.advanceTimersByTime(10 * IDLE_AFTER_MS);
      const second = user();
      hold.resolve();
      expect(await Promise.all([first, second])).toEqual(["closed", "closed"]);
      await runtime.close();
      const types = (await Array.fromAsync(log.read("s"))).map(({ type }) => type);
      expect(types).toEqual(["session.created", "session.closed"]);
    },
  );
});
