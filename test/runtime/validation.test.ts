/** What a program hands over is checked where it comes in: callers without types break no log. */

import { tool } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createCodec, TurnlogError, type SessionEvent } from "../../src/events/index.ts";
import { forkSession } from "../../src/archive/index.ts";
import {
  createRuntime,
  openMemoryLog,
  overflow,
  type RuntimeOptions,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { storedEvents } from "../support/replay.ts";
import { patience, runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const model = scriptedModel(() => "Fine.");

/** As a caller without types does it. */
async function created(options: unknown): Promise<unknown> {
  const opening = createRuntime(options as RuntimeOptions);
  return await opening.then(
    async (runtime) => {
      await runtime.close();
      return "opened";
    },
    (error: unknown) => error,
  );
}

/** Each as an agent has it, with how the refusal names it. */
const wrongAgents: readonly (readonly [string, object])[] = [
  ["agent.model", { model: undefined }],
  ["agent.model", { model: {} }],
  ["agent.maxSteps", { maxSteps: 0 }],
  ["agent.maxSteps", { maxSteps: -1 }],
  ["agent.maxSteps", { maxSteps: 1.5 }],
  ["agent.maxSteps", { maxSteps: Number.NaN }],
  ["agent.toolCallConcurrency", { toolCallConcurrency: 0 }],
  ["agent.toolCallConcurrency", { toolCallConcurrency: -1 }],
  ["agent.toolCallConcurrency", { toolCallConcurrency: Number.NaN }],
  ["agent.toolPolicies.echo.concurrency", { toolPolicies: { echo: { concurrency: 0 } } }],
  ["agent.toolPolicies.echo.onInterrupted", { toolPolicies: { echo: { onInterrupted: "x" } } }],
  ["agent.maxRetries", { maxRetries: Number.NaN }],
  ["agent.temperature", { temperature: "hot" }],
  ["agent.topP", { topP: Number.NaN }],
  ["agent.maxOutputTokens", { maxOutputTokens: 0 }],
  ["agent.seed", { seed: 0.5 }],
  ["agent.reasoning", { reasoning: 3 }],
  ["agent.timeout.toolMs", { timeout: { toolMs: Number.NaN } }],
  ["agent.timeout.totalMs", { timeout: { totalMs: "5" } }],
  ["agent.loopGuard.texts", { loopGuard: { calls: 3 } }],
  ["agent.instructions", { instructions: ["a"] }],
  ["agent.tools.echo", { tools: { echo: 5 } }],
  ["agent.toolApproval", { toolApproval: true }],
  ["agent.toolApproval.echo", { toolApproval: { echo: "perhaps" } }],
  ["agent.toolChoice", { toolChoice: { type: "tool" } }],
  ["agent.activeTools", { activeTools: "echo" }],
  ["agent.timeout", { timeout: "5" }],
  ["agent.context.compact.how", { context: { compact: { when: overflow() } } }],
  ["agent.headers.a", { headers: { a: 5 } }],
  ["agent.providerOptions.p", { providerOptions: { p: null } }],
];

const wrongOptions: readonly (readonly [string, object])[] = [
  ["dir", { memory: undefined, dir: 5 }],
  ["memory", { memory: "yes" }],
  ["`dir`, `memory: true` and `log`", { memory: undefined }],
  ["dir and memory", { dir: "/nowhere" }],
  ["log", { memory: undefined, log: {} }],
  ["durability", { durability: "x" }],
  ["recovery", { recovery: "x" }],
  ["maxRecoveries", { maxRecoveries: -1 }],
  ["hashChain", { hashChain: "no" }],
  ["stepSource", { stepSource: "x" }],
  ["idleAfterMs", { idleAfterMs: Number.NaN }],
  ["graceMs", { graceMs: -1 }],
  ["testing.clock", { testing: { clock: 5 } }],
  ["testing", { testing: 5 }],
  ["attachments.timeoutMs", { attachments: { timeoutMs: "1s" } }],
  ["blobs.maxBytes", { blobs: { maxBytes: "1 MB" } }],
  ["encryption.keys", { encryption: {} }],
  ["mcp.files", { mcp: { files: {} } }],
  ["agent", { agent: undefined }],
];

describe("createRuntime", () => {
  it.each([
    ...wrongAgents.map(([name, agent]) => [name, { agent: { model, ...agent } }] as const),
    ...wrongOptions,
  ])("refuses a wrong %s by its name: %o", async (name, options) => {
    const refused = await created({ memory: true, agent: { model }, ...options });
    expect(refused).toMatchObject({ code: "INVALID_INPUT" });
    expect(String(refused)).toContain(name);
  });

  it.each([[undefined], [null], [5], [{}]])("refuses %o", async (options) => {
    expect(await created(options)).toMatchObject({ code: "INVALID_INPUT" });
  });

  it("takes what is undefined for not given", async () => {
    const options = { dir: undefined, log: undefined, memory: true, durability: undefined };
    const agent = { model, maxSteps: undefined, tools: undefined, timeLimits: undefined };
    expect(await created({ ...options, agent })).toBe("opened");
  });
});

it("maxSteps may be Infinity: the turn has no limit on steps, and is read again by all that read", async () => {
  const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });
  const many = scriptedModel((_, index) =>
    index < 60 ? calling(call("echo", `c${index}`, { n: index })) : "Done.",
  );
  const agent = { model: many, tools: { echo }, maxSteps: Number.POSITIVE_INFINITY };
  await using open = await openSession(agent);
  const turn = await open.session.send("Go.");
  expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Done." });
  const events = await open.events();
  expect(events.map(asRead)).toEqual(events);
  expect((await open.session.view()).state.context).toMatchObject({ stepsInTurn: 61 });
});

/** Read as another process reads: from its row. */
function asRead(event: SessionEvent): SessionEvent {
  const codec = createCodec();
  const key = { session: "s", position: event.position };
  return codec.decode(codec.encode(event, key), key);
}

type Command = (session: Session, ...wrong: readonly unknown[]) => unknown;

/** Calls a command as a caller without types does. */
function command(name: keyof Session): Command {
  return (session, ...wrong) => {
    const asked: unknown = session[name];
    const answer: unknown =
      typeof asked === "function" ? Reflect.apply(asked, session, wrong) : undefined;
    return answer;
  };
}

const commands: readonly (readonly [string, keyof Session, readonly unknown[]])[] = [
  ["text", "send", [5]],
  ["text", "send", [undefined]],
  ["text", "send", [null]],
  ["text", "send", [{ text: 5 }]],
  ["text", "send", [["a"]]],
  ["message.files", "send", [{ files: "x" }]],
  ["message.text", "send", [{ text: 5, files: [] }]],
  ["providerOptions", "send", [[{ type: "text", text: "a", providerOptions: { p: null } }]]],
  ["options.id", "send", ["x", { id: 7 }]],
  ["options.delivery", "send", ["x", { delivery: "now" }]],
  ["options", "send", ["x", null]],
  ["messageId", "turn", [5]],
  ["options.mode", "cancel", [{ mode: "x" }]],
  ["options.reason", "cancel", [{ reason: 5 }]],
  ["answer.reason", "deny", ["c", { reason: 5 }]],
  ["answer.always", "approve", ["c", { always: "yes" }]],
  ["reason", "withdraw", ["m", 5]],
  ["messageId", "withdraw", [undefined]],
  ["to", "reschedule", ["m", "now"]],
  ["strategy.plan", "compact", [{ name: "mine" }]],
  ["position", "restore", ["3"]],
  ["options.position", "preview", [{ position: "3" }]],
  ["options.position", "context", [{ position: "3" }]],
  ["position", "at", ["3"]],
  ["after", "diff", [1, "3"]],
  ["options.position", "fork", [{ position: "3" }]],
  ["options.edit", "fork", [{ edit: "x" }]],
  ["options.undo", "fork", [{ undo: true }]],
  ["agent.model", "fork", [{ model: 5 }]],
  ["agent.instructions", "fork", [{ instructions: ["a"] }]],
  ["options.step", "rerun", [{ step: "1" }]],
  ["what", "redact", ["3"]],
  ["options.from", "events", [{ from: "x" }]],
  ["reason", "close", [5]],
];

describe("a session", () => {
  it.each(commands)(
    "refuses a wrong %s of `%s`, and nothing is written: %o",
    async (name, of, wrong) => {
      await using open = await openSession({ model });
      await (
        await open.session.send("Go.", { id: "m" })
      ).result;
      const before = await open.events();
      const refused: unknown = await (async () =>
        await command(of)(open.session, ...wrong))().catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "INVALID_INPUT" });
      expect(String(refused)).toContain(name);
      expect(await open.events()).toEqual(before);
      expect(await Array.fromAsync(open.log.list())).toHaveLength(1);
    },
  );

  it(
    "stays as readable as it was, whatever its commands are given",
    async () => {
      const some = fc.oneof(
        fc.jsonValue({ maxDepth: 1 }),
        fc.constantFrom(undefined, Number.NaN, Infinity, 10n, "m", "c", "now", "steer", 1, 3),
      );
      const options = fc.dictionary(
        fc.constantFrom(
          "id",
          "delivery",
          "mode",
          "reason",
          "always",
          "position",
          "replaces",
          "beforeTurn",
          "from",
        ),
        some,
        { maxKeys: 3 },
      );
      const names = [...new Set(commands.map(([, name]) => name)), "idle", "view"] as const;
      const act = fc.record({
        name: fc.constantFrom<keyof Session>(...names.filter((name) => name !== "events")),
        wrong: fc.array(fc.oneof(some, options), { maxLength: 2 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(act, { maxLength: 6 }), async (acts) => {
          const hold = gate();
          const asking = tool({ inputSchema: z.object({}), execute: () => 1 });
          const script = scriptedModel((_, index) =>
            index === 0 ? calling(hold, call("asking", "c")) : "Fine.",
          );
          const log = await openMemoryLog();
          const agent = {
            model: script,
            tools: { asking },
            toolApproval: { asking: "user-approval" },
          } as const;
          const runtime = await createRuntime({ log, agent, graceMs: 1 });
          const session = await runtime.session("s");
          const turn = await session.send("Go.", { id: "m" });
          turn.result.catch(() => {});
          const told = acts.map(async ({ name, wrong }) => await command(name)(session, ...wrong));
          hold.open();
          const closing = session.atRest().then(() => runtime.close());
          const ends = await Promise.allSettled([...told, closing]);
          const thrown = ends.flatMap((end): readonly unknown[] =>
            end.status === "rejected" ? [end.reason] : [],
          );
          expect(thrown.filter((error) => !TurnlogError.isInstance(error))).toEqual([]);
          for await (const entry of log.list()) {
            const events = await storedEvents(log, entry.session);
            expect(events.map(asRead)).toEqual(events);
          }
          await log.close();
        }),
        runs(60),
      );
    },
    patience,
  );
});

it.each([
  ["clock", { testing: { clock: () => Number.NaN } }],
  ["newId", { testing: { newId: () => 5 } }],
])("a wrong answer of a %s is refused, and nothing of it is written", async (name, wrong) => {
  const log = await openMemoryLog();
  const options = { log, agent: { model }, ...wrong } as unknown as RuntimeOptions;
  const runtime = await createRuntime(options);
  const refused: unknown = await (async () => {
    const session = await runtime.session(name === "newId" ? undefined : "s");
    await session.send("Go.");
  })().catch((error: unknown) => error);
  expect(String(refused)).toContain(name);
  await runtime.close();
  expect(await Array.fromAsync(log.list())).toEqual([]);
  await log.close();
});

it("an agent's function that answers nonsense fails the turn before the log has what cannot be read", async () => {
  const log = await openMemoryLog();
  const estimator = { name: "none", exact: true, text: () => Number.NaN };
  const runtime = await createRuntime({ log, agent: { model, context: { estimator } } });
  const session = await runtime.session("s");
  const turn = await session.send("Go.");
  await expect(turn.result).rejects.toMatchObject({
    code: "TURN_FAILED",
    cause: { code: "CALLBACK_FAILED" },
  });
  await runtime.close();
  const events = await storedEvents(log, "s");
  expect(events.map(asRead)).toEqual(events);
  expect(events.map(({ type }) => type)).toContain("message.queued");
  await log.close();
});

it("functions over a log refuse what would not fit into it", async () => {
  const log = await openMemoryLog();
  const runtime = await createRuntime({ log, agent: { model } });
  await (
    await (await runtime.session("s")).send("Go.")
  ).result;
  await runtime.close();
  const before = await storedEvents(log, "s");
  await expect(forkSession(log, "s", { as: "f", now: Number.NaN })).rejects.toMatchObject({
    code: "INVALID_INPUT",
    message: expect.stringContaining("options.now") as unknown,
  });
  expect(await storedEvents(log, "s")).toEqual(before);
  expect(await Array.fromAsync(log.list())).toHaveLength(1);
  await log.close();
});
