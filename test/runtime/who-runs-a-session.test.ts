/** A session is run by one at a time: who closes, deletes, configures or fails it leaves nobody behind who still does. */

import { setImmediate } from "node:timers/promises";
import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  createRuntime,
  dropOldest,
  openLog,
  openMemoryLog,
  verifySession,
  type EventLog,
  type Session,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { call, calling } from "../support/script.ts";
import { nothing } from "./tools.ts";

/** Lets so many promises go on. */
async function moments(count: number): Promise<void> {
  for (let moment = 0; moment < count; moment++) await Promise.resolve();
}

async function told(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => "done",
    (error: unknown) => (error as { readonly code?: unknown }).code ?? error,
  );
}

const words = ["a", "b", "c", "d"];
const talking = () => scriptedModel(() => ({ parts: [{ type: "text", deltas: words }] }));

describe("a runtime that is closed", () => {
  const commands: readonly (readonly [string, (session: Session) => Promise<unknown>])[] = [
    ["send", (session) => session.send("More.")],
    ["resume", (session) => session.resume()],
    ["approve", (session) => session.approve("s~1~1~1~1")],
    ["compact", (session) => session.compact()],
    ["fork", (session) => session.fork()],
    ["rewind", (session) => session.rewind({ to: 1 })],
    ["edit", (session) => session.send("Otherwise.", { replaces: "m1" })],
    ["regenerate", (session) => session.regenerate()],
  ];

  it.each(commands)(
    "has come to rest, whenever it is closed beside `%s`: nothing is written, called or run any more",
    async (name, command) => {
      for (let moment = 0; moment < 24; moment++) {
        await using log = await openMemoryLog();
        let isClosed = false;
        const late: string[] = [];
        const watched = wrapLog(log, {
          append: (...append) => {
            if (isClosed) late.push("append");
            return log.append(...append);
          },
        });
        const model = scriptedModel(({ prompt }) => {
          if (isClosed) late.push("model");
          return name === "approve" && prompt.at(-1)?.role === "user"
            ? calling(call("work", "1"))
            : "Fine.";
        });
        const execute = (): string => {
          if (isClosed) late.push("tool");
          return "worked";
        };
        const tools = { work: tool({ inputSchema: nothing, execute }) };
        const agent = { model, tools, toolApproval: () => "user-approval" as const };
        const runtime = await createRuntime({ log: watched, agent, graceMs: 1 });
        const session = await runtime.session("s");
        await session.send("Go.", { id: "m1" });
        await session.atRest();
        if (name === "resume") {
          await session.send("Two.");
          await session.send("Three.");
          await session.cancel();
        }
        const asked = told(command(session));
        await moments(moment);
        await runtime.close();
        isClosed = true;
        await asked;
        for (let turns = 0; turns < 5; turns++) await setImmediate();
        expect(late, `after ${moment} moments`).toEqual([]);
      }
    },
  );
});

describe("a session that is put away", () => {
  it("tells the result to who asked for it in the same moment", async () => {
    const agents = { one: { model: talking() }, two: { model: talking() } };
    await using runtime = await createRuntime({ memory: true, agents });
    const session = await runtime.session("s", { agent: "one" });
    await (
      await session.send("One.")
    ).result;
    await session.send("Two.");
    const three = await session.send("Three.");
    await session.cancel();
    const [answer, configured] = [three.result, session.configure({ agent: "two" })];
    await configured;
    await session.resume();
    expect(await answer).toMatchObject({ finishReason: "stop" });
  });

  it("is deleted with nothing beside it: a message that comes meanwhile is refused, and runs nothing", async () => {
    await using log = await openMemoryLog();
    const model = talking();
    const reading = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow: EventLog = wrapLog(log, {
      delete: async (...deletion) => {
        reading.resolve();
        await goOn.promise;
        return await log.delete(...deletion);
      },
    });
    await using runtime = await createRuntime({ log: slow, agent: { model } });
    const session = await runtime.session("s");
    await (
      await session.send("One.")
    ).result;
    const deleted = runtime.delete("s");
    await reading.promise;
    const sent = told(session.send("Two."));
    goOn.resolve();
    expect(await deleted).toMatchObject({ repeated: false });
    expect(await sent).toBe("SESSION_DELETED");
    expect(await told(Promise.all([session.view(), session.idle()]))).toBe("SESSION_DELETED");
    expect(model.calls).toHaveLength(1);
  });

  it("is not followed by anything of who had it before, where somebody else has written one event", async () => {
    await using folder = await temporaryFolder();
    await using log = await openLog({ dir: folder.path });
    await using runtime = await createRuntime({ log, agent: { model: talking() } });
    const session = await runtime.session("s");
    for (const message of ["One.", "Two."]) await (await session.send(message)).result;
    const other = {
      type: "session.metadata-set",
      time: 1,
      data: { metadata: { by: "other" } },
    } as const;
    await log.append("s", "any", [other]);
    const last = await log.revision("s");
    expect(await told(session.send("Three."))).toBe("SESSION_FAILED");
    expect(await log.revision("s")).toBe(last);
    expect(await (await session.send("Three.")).result).toMatchObject({ finishReason: "stop" });
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });
});

describe("a session that has failed", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("has one live actor at a time, whichever calls overlap", async () => {
    for (let moment = 0; moment < 40; moment++) {
      await using log = await openMemoryLog();
      let isFirst = true;
      const failing = wrapLog(log, {
        append: async (...append) => {
          if (!isFirst) return await log.append(...append);
          isFirst = false;
          await Promise.resolve();
          throw new Error("The disk is full, once.");
        },
      });
      await using runtime = await createRuntime({ log: failing, agent: { model: talking() } });
      const all = Array.from({ length: 6 }, async (_, index) => {
        await moments(index * moment);
        const session = await runtime.session("s");
        return await (
          await session.send("Go.", { id: `m${index}` })
        ).result;
      });
      const causes = (await Promise.allSettled(all)).flatMap((one) =>
        one.status === "rejected" ? [String(one.reason)] : [],
      );
      expect(causes.filter((cause) => !cause.includes("The disk is full"))).toEqual([]);
      // Where everybody asked before it had failed, nobody has begun it.
      if ((await log.revision("s")) === 0) continue;
      expect((await verifySession(log, "s")).problems).toEqual([]);
    }
  });

  it("keeps no timer that would keep it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await using log = await openMemoryLog();
    const failing = wrapLog(log, {
      append: async (session, expected, events, options) => {
        if (events.some(({ type }) => type === "turn.ended")) throw new Error("The disk is full.");
        return await log.append(session, expected, events, options);
      },
    });
    const idleAfterMs = 1000;
    await using runtime = await createRuntime({
      log: failing,
      idleAfterMs,
      agent: { model: talking() },
    });
    const session = await runtime.session("s");
    expect(await told((await session.send("Go.")).result)).toBe("SESSION_FAILED");
    vi.advanceTimersByTime(10 * idleAfterMs);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("did not fail where only a function of the user threw, when the time of its turn was up", async () => {
    let isBroken = false;
    const limit = (): number => {
      if (isBroken) throw new Error("A bug of theirs.");
      return 1_000_000;
    };
    const when = { name: "mine", atLimit: "compact", limit } as const;
    const due: (() => void)[] = [];
    const begun = Promise.withResolvers<void>();
    const left = Promise.withResolvers<string>();
    await using runtime = await createRuntime({
      memory: true,
      agent: {
        model: scriptedModel(() => calling(call("work", "1"))),
        tools: {
          work: tool({
            inputSchema: nothing,
            execute: () => {
              begun.resolve();
              return left.promise;
            },
          }),
        },
        timeout: { totalMs: 100 },
        timeLimits: { lastStep: true },
        context: { compact: { when, how: dropOldest({ keepTurns: 1 }) } },
      },
      testing: {
        timer: (_, end, wait) => {
          if (wait.kind === "turn") due.push(end);
          return { [Symbol.dispose]: () => {} };
        },
      },
    });
    const session = await runtime.session("s");
    const turn = await session.send("Go.");
    await begun.promise;
    isBroken = true;
    const failed = told(turn.result);
    for (const end of due.splice(0)) end();
    left.resolve("worked");
    expect(await failed).toBe("TURN_FAILED");
    isBroken = false;
    expect((await session.view()).state.context.turn).toBe(1);
  });
});

it("waiting for a message of a closed session fails, since it has no turn", async () => {
  await using runtime = await createRuntime({ memory: true, agent: { model: talking() } });
  const session = await runtime.session("s");
  await session.send("One.");
  const two = await session.send("Two.");
  await session.cancel();
  const before = told(two.result);
  await session.close();
  expect(await Promise.all([before, told(two.result)])).toEqual([
    "COMMAND_REFUSED",
    "COMMAND_REFUSED",
  ]);
});

it("a tool that never ends its word that its input is there does not keep a turn from being cancelled", async () => {
  const asked = Promise.withResolvers<void>();
  const work = tool({
    inputSchema: nothing,
    execute: () => "worked",
    onInputAvailable: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const model = scriptedModel(() => calling(call("work", "1")));
  await using runtime = await createRuntime({ memory: true, agent: { model, tools: { work } } });
  const session = await runtime.session("s");
  await session.send("Go.");
  await asked.promise;
  expect(await session.cancel()).toMatchObject({ ended: "cancelled" });
});
