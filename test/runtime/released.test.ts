/** Whatever a turn opens is released when it ends, however it ends. */

import { APICallError, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent, Session } from "../../src/public/index.ts";
import { systemTimer, type Timer } from "../../src/shared/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession } from "../support/with-runtime.ts";
import { openedThings } from "./opened-things.ts";

const inputSchema = z.object({});
const tools = {
  quick: tool({ inputSchema, execute: () => "done" }),
  failing: tool({
    inputSchema,
    execute: (): string => {
      throw new Error("It broke.");
    },
  }),
  deaf: tool({ inputSchema, execute: () => new Promise<string>(() => {}) }),
};

function refusal(statusCode: number): APICallError {
  const url = "https://provider.invalid";
  const responseHeaders = { "retry-after-ms": "0" };
  return new APICallError({
    message: "No.",
    url,
    requestBodyValues: {},
    statusCode,
    responseHeaders,
  });
}

/** How a turn goes, and what is done to it. */
interface Ending {
  readonly steps: readonly ScriptedStep[];
  readonly agent?: Partial<Agent>;
  readonly meddle?: (session: Session) => Promise<unknown>;
  readonly timer?: Timer;
  readonly ends: string;
}

const endings: Readonly<Record<string, Ending>> = {
  "it ends by itself": {
    steps: [calling(call("quick", "1"), call("failing", "2")), "Done."],
    agent: {
      timeout: {
        totalMs: 3_600_000,
        stepMs: 3_600_000,
        firstChunkMs: 3_600_000,
        chunkMs: 3_600_000,
        toolMs: 3_600_000,
      },
      timeLimits: { callMs: 3_600_000 },
    },
    ends: "stop",
  },
  "the provider refuses": { steps: [{ failure: refusal(400) }], ends: "failed" },
  "the stream reports an error": {
    steps: [calling({ type: "text", deltas: ["So "] }, { type: "error", error: refusal(400) })],
    ends: "failed",
  },
  "the stream breaks": {
    steps: [calling({ type: "text", deltas: ["So "] }, { type: "break", error: refusal(400) })],
    ends: "failed",
  },
  "an attempt is made again after an error": {
    steps: [
      calling({ type: "text", deltas: ["So "] }, { type: "error", error: refusal(503) }),
      "be it.",
    ],
    ends: "stop",
  },
  "it is cancelled while the model speaks": {
    steps: [saying("One ", gate())],
    meddle: async (session) => {
      await seen(session, "part.text-delta");
      await session.cancel();
    },
    ends: "cancelled",
  },
  "it is cancelled before the model says anything": {
    steps: [calling(gate())],
    meddle: async (session) => {
      await seen(session, "step.started");
      await session.cancel();
    },
    ends: "cancelled",
  },
  "it is cancelled while a tool does not listen": {
    steps: [calling(call("deaf", "1"))],
    agent: { timeout: { toolMs: 3_600_000 } },
    meddle: async (session) => {
      await seen(session, "tool.started");
      await session.cancel();
    },
    ends: "cancelled",
  },
  "it is cancelled while it waits to try again": {
    steps: [{ failure: new TypeError("fetch failed") }],
    meddle: async (session) => {
      await seen(session, "step.retrying");
      await session.cancel();
    },
    timer: systemTimer,
    ends: "cancelled",
  },
  "a tool's time is up": {
    steps: [calling(call("deaf", "1")), "Done."],
    agent: { timeout: { toolMs: 1 } },
    ends: "stop",
  },
  "the model's time is up": {
    steps: [saying("Half ", gate()), "a sentence."],
    agent: { timeout: { chunkMs: 5 }, maxRetries: 0 },
    ends: "failed",
  },
  "its time is up": {
    steps: [saying("Half ", gate())],
    agent: { timeout: { totalMs: 10 } },
    ends: "timed-out",
  },
};

describe.each(["language-model-call", "stream-text"] as const)("By way of %s", (stepSource) => {
  // At rest it has no timer.
  const options = { stepSource, idleAfterMs: Number.POSITIVE_INFINITY };
  /** A session listens for the loss of its claim. */
  const atRest = { listeners: 1, timers: 0, streams: 0 };

  it.each(Object.entries(endings))(
    "no listener, timer or stream of a turn is left when %s",
    async (_, { steps, agent, meddle, timer, ends }) => {
      using things = openedThings();
      const model = things.counted(scriptedModel(steps));
      await using open = await openSession(
        { model, tools, ...agent },
        { ...options, ...(timer && { timer }) },
      );
      await expect.poll(() => things.count()).toEqual(atRest);
      const turn = await open.session.send("Go.");
      await meddle?.(open.session);
      await turn.result.catch(() => undefined);
      await open.session.idle();
      expect((await open.session.view()).summary.lastEnd).toBe(ends);
      await expect.poll(() => things.count()).toEqual(atRest);
      expect(things.streamsOpened + things.signals).toBeGreaterThan(0);
    },
  );

  it("a stream that a model opens after its abort is closed", async () => {
    using things = openedThings();
    const late = Promise.withResolvers<void>();
    const scripted = scriptedModel(["Before.", "Too late."]);
    let calls = 0;
    const model = {
      ...scripted,
      doStream: async ({ abortSignal: _, ...options }: Parameters<typeof scripted.doStream>[0]) => {
        if (++calls === 2) await late.promise;
        return await scripted.doStream(options);
      },
    };
    await using open = await openSession({ model: things.counted(model) }, { stepSource });
    await (
      await open.session.send("Begin.")
    ).result;
    const turn = await open.session.send("Go.");
    await expect.poll(() => calls).toBe(2);
    await open.session.cancel();
    await turn.result;
    late.resolve();
    await expect.poll(() => things.streamsOpened).toBe(2);
    expect(await things.count()).toMatchObject({ streams: 0 });
  });
});
