/** Whatever is thrown, and by whom: it is recorded as what it is, and the session continues. */

import type { LanguageModelV4 } from "@ai-sdk/provider";
import { jsonSchema, tool, type ToolSet } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  importMessages,
  importSession,
  openMemoryLog,
  threshold,
  TurnlogError,
  dropOldest,
  slidingWindow,
  byImportance,
  checkpoint,
  dropMiddle,
  summarize,
  type Agent,
  type SessionEvent,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { hostileValues } from "../support/hostile-values.ts";
import { sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen, type OpenOptions } from "../support/with-runtime.ts";

const inputSchema = z.looseObject({});
const usual = (): Agent["model"] =>
  scriptedModel((_, index) => (index === 0 ? calling(call("odd", "c", {})) : "Fine."));

function rethrown(make: () => unknown): never {
  throw make();
}

/** Two turns, and one more in a new process; each ends as one may end, and the last two well. */
async function outcomes(
  agent: Agent,
  options: OpenOptions = {},
): Promise<{ readonly ends: readonly string[]; readonly events: readonly SessionEvent[] }> {
  const ends: string[] = [];
  await using open = await openSession(agent, options);
  const { log } = open;
  const say = async (session: typeof open.session): Promise<void> => {
    const turn = await session.send("Go.");
    ends.push(
      await turn.result.then(
        ({ finishReason }) => finishReason,
        (error: unknown) => (TurnlogError.isInstance(error) ? error.code : String(error)),
      ),
    );
  };
  await say(open.session);
  await say(open.session);
  await using again = await reopen(open, { model: scriptedModel(() => "Fine.") }, { log });
  await say(again.session);
  return { ends, events: await again.events() };
}

type End = SessionEvent<"tool.succeeded" | "tool.failed" | "tool.unknown">;

function ended(events: readonly SessionEvent[]): readonly End[] {
  return events.filter(
    (event) =>
      event.type === "tool.succeeded" ||
      event.type === "tool.failed" ||
      event.type === "tool.unknown",
  );
}

const made = Object.entries(hostileValues).map(
  ([name, make], place) => [name, make, place] as const,
);

describe.each(made)("%s", (_, make, place) => {
  const withTool = (odd: ToolSet[string], more: Partial<Agent> = {}): Agent => ({
    model: usual(),
    tools: { odd },
    ...more,
  });

  const expectFailedTurns = async (
    stepSource: "language-model-call" | "stream-text",
  ): Promise<void> => {
    const failing = [
      (): never => rethrown(make),
      async () => ({
        stream: new ReadableStream({
          start: (controller) => {
            controller.error(make());
          },
        }),
      }),
      async () => ({ stream: ReadableStream.from([{ type: "error", error: make() }]) }),
    ];
    for (const doStream of failing) {
      const fine = scriptedModel(() => "Fine.");
      let calls = 0;
      const model = {
        ...fine,
        doStream: async (options: Parameters<LanguageModelV4["doStream"]>[0]) => {
          calls += 1;
          return await (calls === 1 ? doStream() : fine.doStream(options));
        },
      } as LanguageModelV4;
      const { ends } = await outcomes({ model, maxRetries: 0 }, { stepSource });
      expect(ends).toEqual([expect.stringMatching(/^(TURN_FAILED|failed)$/), "stop", "stop"]);
    }
  };

  /** Each value in half of the ways, the next one in the others; in a long run in all. */
  const ways: Readonly<Record<string, () => Promise<void>>> = {
    "of a tool ends its call, and the model gets the error": async () => {
      const execute = (): string => "done";
      const thrown = (): never => rethrown(make);
      // As a caller without types does it.
      const tools = {
        throws: tool({ inputSchema, execute: (): string => rethrown(make) }),
        answers: tool({ inputSchema, execute: make as () => string }),
        throwsLater: tool({
          inputSchema,
          async *execute() {
            yield "so far";
            rethrown(make);
          },
        }),
        tells: tool({
          inputSchema,
          async *execute() {
            yield make();
            yield "done";
          },
        }),
        cannotShow: tool({ inputSchema, execute, toModelOutput: thrown }),
        showsIt: tool({ inputSchema, execute, toModelOutput: make as () => never }),
        // oxlint-disable-next-line typescript/no-deprecated
        cannotAsk: tool({ inputSchema, execute, needsApproval: thrown }),
      };
      const names = Object.keys(tools);
      const model = scriptedModel((_, index) =>
        index === 0 ? calling(...names.map((name) => call(name, name, {}))) : "Fine.",
      );
      const { ends, events } = await outcomes({ model, tools });
      expect(ends).toEqual(["stop", "stop", "stop"]);
      const failed = { type: "tool.failed" };
      const notShown = {
        type: "tool.succeeded",
        data: { output: "done", modelOutput: { type: "error-text" } },
      };
      const answered = { type: expect.stringMatching(/^tool\.(succeeded|failed)$/) as string };
      const expected = [failed, answered, failed, answered, notShown, notShown, failed];
      expect(
        names.map((name) => ended(events).find(({ data }) => data.callId === name)),
      ).toMatchObject(expected);
    },

    "thrown by `needsApproval` of the agent is a failed call": async () => {
      const odd = tool({ inputSchema, execute: () => "done" });
      const { ends, events } = await outcomes(
        withTool(odd, { toolApproval: () => rethrown(make) }),
      );
      expect(ends).toEqual(["stop", "stop", "stop"]);
      expect(ended(events).map(({ type }) => type)).toEqual(["tool.failed"]);
    },

    "thrown by the schema of a tool is a failed call or turn": async () => {
      const odd = tool({
        inputSchema: jsonSchema<object>({ type: "object" }, { validate: () => rethrown(make) }),
        execute: () => "done",
      });
      const { ends } = await outcomes(withTool(odd));
      expect(ends[0]).toMatch(/^(stop|TURN_FAILED)$/);
      expect(ends.slice(1)).toEqual(["stop", "stop"]);
    },

    "thrown by `repairToolCall` is a failed call or turn": async () => {
      const odd = tool({ inputSchema: z.object({ a: z.number() }), execute: () => "done" });
      const { ends } = await outcomes(withTool(odd, { repairToolCall: () => rethrown(make) }));
      expect(ends[0]).toMatch(/^(stop|TURN_FAILED)$/);
      expect(ends.slice(1)).toEqual(["stop", "stop"]);
    },

    "thrown by a tool's input callback fails at most its turn": async () => {
      const odd = tool({
        inputSchema,
        execute: () => "done",
        onInputAvailable: () => rethrown(make),
      });
      const { ends } = await outcomes(withTool(odd));
      expect(ends[0]).toMatch(/^(stop|TURN_FAILED)$/);
      expect(ends.slice(1)).toEqual(["stop", "stop"]);
    },

    "thrown by a model is a failed turn, by way of language-model-call": () =>
      expectFailedTurns("language-model-call"),

    "thrown by a model is a failed turn, by way of stream-text": () =>
      expectFailedTurns("stream-text"),

    "thrown by a strategy is a rejected compaction": async () => {
      const how = { name: "odd", plan: () => rethrown(make) };
      const model = scriptedModel(() => "Fine. ".repeat(400));
      const limits = { scripted: { contextWindow: 2000, maxOutputTokens: 100 } };
      const context = { compact: { when: threshold(0.1), how }, limits };
      const { ends, events } = await outcomes({ model, context });
      expect(ends).toEqual(["stop", "stop", "stop"]);
      expect(events.some(({ type }) => type === "context.compaction-rejected")).toBe(true);
    },

    "thrown by `onWarning` changes nothing": async () => {
      const log = wrapLog(await openMemoryLog(), {
        saveSnapshot: () => Promise.reject(new Error("No room for snapshots.")),
      });
      const told = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      try {
        const onWarning = (): never => rethrown(make);
        const { ends } = await outcomes({ model: usual() }, { log, onWarning });
        expect(ends).toEqual(["stop", "stop", "stop"]);
        const warnings = told.mock.calls.map(([warning]) => String(warning));
        expect(warnings.some((warning) => warning.includes("`onWarning` threw"))).toBe(true);
        expect(warnings.some((warning) => warning.includes("A snapshot of session s"))).toBe(true);
      } finally {
        told.mockRestore();
      }
    },

    "given as a message or as messages is refused by a typed error, or taken for what it is":
      async () => {
        await using log = await openMemoryLog();
        await using runtime = await createRuntime({ log, agent: { model: usual() } });
        const session = await runtime.session("s");
        const given = make as () => never;
        const refusals = await Promise.allSettled([
          session.send(given()),
          session.send([given()]),
          session.send([{ type: "file", mediaType: "image/png", data: given() }]),
          session.send({ files: given() }),
          session.send("x", given()),
          session.cancel(given()),
          session.compact(given()),
          importMessages(log, given(), { from: "model-messages", as: "a" }),
          importMessages(log, [given()], { from: "model-messages", as: "b" }),
          importMessages(log, [{ role: "user", content: given() }], {
            from: "model-messages",
            as: "c",
          }),
          importMessages(log, given(), { from: "ui-messages", as: "d" }),
          importMessages(log, [given()], { from: "ui-messages", as: "e" }),
          importMessages(log, [{ id: "m", role: "user", parts: given() }], {
            from: "ui-messages",
            as: "f",
          }),
        ]);
        const untyped = refusals.filter(
          (one) => one.status === "rejected" && !TurnlogError.isInstance(one.reason),
        );
        expect(untyped).toEqual([]);
        await session.cancel();
        await expect((await session.send("And now?")).result).resolves.toBeDefined();
      },
  };
  it.each(sampled(Object.entries(ways), 2, place))("%s", async (_way, expectMet) => {
    await expectMet();
  });
});

describe("1,000,000 levels", () => {
  const deep = `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`;
  const refused = { code: "INVALID_INPUT", message: expect.stringContaining("levels") as string };

  it("are refused in the file of a session", async () => {
    await using log = await openMemoryLog();
    const header = JSON.stringify({ turnlog: "session", format: 1, session: "s", events: 1 });
    const event = `{"seq":1,"at":1,"type":"part.raw","version":1,"data":{"rawValue":${deep}}}`;
    await expect(importSession(log, [header, event])).rejects.toMatchObject(refused);
    await expect(importSession(log, [deep])).rejects.toMatchObject(refused);
    expect(await Array.fromAsync(log.list())).toEqual([]);
  });

  it("are refused in messages", async () => {
    await using log = await openMemoryLog();
    const value = JSON.parse(deep) as never;
    await expect(
      importMessages(log, value, { from: "model-messages", as: "s" }),
    ).rejects.toMatchObject(refused);
    await expect(
      importMessages(log, value, { from: "ui-messages", as: "s" }),
    ).rejects.toMatchObject(refused);
    expect(await Array.fromAsync(log.list())).toEqual([]);
  });
});

describe("a strategy", () => {
  it.each([
    ["dropOldest", dropOldest],
    ["slidingWindow", slidingWindow],
    ["checkpoint", checkpoint],
    ["dropMiddle", dropMiddle],
    ["byImportance", byImportance],
    ["summarize", summarize],
  ])("%s is refused at once for options that it does not take", (name, make) => {
    const fields = ["keepTurns", "tokens", "keepMessages", "headTokens", "keepTokens"];
    const wrong: unknown[] = [null, 5, Object.fromEntries(fields.map((field) => [field, "5"]))];
    if (name === "dropOldest") wrong.push(undefined, {});
    for (const options of wrong) {
      const made = (): unknown => (make as (options: unknown) => unknown)(options);
      expect(made).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
      expect(made).toThrow(name);
    }
  });
});
