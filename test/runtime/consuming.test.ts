/** Consumers: every event of every session, in order, at least once, from where the last process stopped. */

import { spawn } from "node:child_process";
import { readdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineEvents,
  memoryKeys,
  openLog,
  openMemoryLog,
  type EventLog,
  type TurnlogError,
} from "../../src/public/index.ts";
import type { GlobalEvent } from "../../src/public/events.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { ask } from "../support/asking.ts";

const notes = defineEvents({ "app.noted": z.object({ n: z.number() }) });
const agent = { model: scriptedModel(() => "Fine.") };

/** A handler that keeps what it gets, and a wait until it has got so many. */
function kept(): {
  readonly handler: (entry: GlobalEvent) => void;
  readonly got: GlobalEvent[];
  readonly upTo: (position: number) => Promise<void>;
} {
  const got: GlobalEvent[] = [];
  let more = Promise.withResolvers<void>();
  return {
    got,
    handler: (entry) => {
      got.push(entry);
      more.resolve();
      more = Promise.withResolvers();
    },
    upTo: async (position) => {
      while ((got.at(-1)?.position ?? 0) < position) await more.promise;
    },
  };
}

async function all(log: EventLog): Promise<readonly GlobalEvent[]> {
  return await Array.fromAsync(log.readAll());
}

const places = (entries: readonly GlobalEvent[]): readonly number[] =>
  entries.map(({ position }) => position);

describe("a consumer", () => {
  it("gets the past of all sessions, then what happens, in global order without a gap", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: notes });
    const [a, b] = await Promise.all([runtime.session("a"), runtime.session("b")]);
    await ask(a, "One.");
    const { handler, got, upTo } = kept();
    await using _ = await runtime.consume("c", handler);
    await Promise.all([ask(b, "Two."), a.append("app.noted", { n: 1 }), ask(a, "Three.")]);
    const expected = await all(runtime.log);
    await upTo(expected.at(-1)?.position ?? 0);
    expect(got).toEqual(expected);
  });

  it("continues in the next process where the last one stopped, and a new name from where it is told", async () => {
    await using log = await openMemoryLog();
    let last = 0;
    for (const n of [1, 2, 3]) {
      await using runtime = await createRuntime({ log, agent, events: notes });
      await ask(await runtime.session("s"), `${n}`);
      const expected = (await all(log)).filter(({ position }) => position > last);
      const { handler, got, upTo } = kept();
      await using consumer = await runtime.consume("c", handler, { from: 3 });
      last = expected.at(-1)?.position ?? 0;
      await upTo(last);
      expect(got).toEqual(n === 1 ? expected.slice(2) : expected);
      await consumer.stop();
      expect(await log.cursors.load("c")).toBe(last);
    }
  });

  it("waits for its handler, and a stop waits too and stores the position", async () => {
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent, events: notes });
    const session = await runtime.session("s");
    await ask(session, "One.");
    const held = gate();
    const got: number[] = [];
    const consumer = await runtime.consume("c", async ({ position }) => {
      got.push(position);
      if (position === 2) await held.until;
    });
    const stopped = consumer.stop();
    held.open();
    await stopped;
    await consumer.done;
    expect(consumer.position).toBe(got.at(-1) ?? 0);
    const stored = await log.cursors.load("c");
    expect(stored ?? 0).toBe(got.at(-1) ?? 0);
  });

  it("stops when its handler throws, says at which event, and begins with it again", async () => {
    const warnings: TurnlogError[] = [];
    const onWarning = (warning: TurnlogError): void => void warnings.push(warning);
    await using runtime = await createRuntime({ memory: true, agent, events: notes, onWarning });
    const session = await runtime.session("s");
    const { position } = await session.append("app.noted", { n: 1 });
    await session.append("app.noted", { n: 2 });
    const consumer = await runtime.consume("c", ({ event }) => {
      if (event.position === position) throw new Error("the database is away");
    });
    const error = {
      code: "CALLBACK_FAILED",
      session: "s",
      position,
      details: { consumer: "c", globalPosition: position },
    };
    await expect(consumer.done).rejects.toMatchObject(error);
    expect(warnings).toMatchObject([error]);
    const { handler, got, upTo } = kept();
    await using _ = await runtime.consume("c", handler);
    await upTo(position + 1);
    expect(places(got)).toEqual([position, position + 1]);
    await ask(session, "Still there?");
  });

  it("runs once under a name; the name is free when it has ended, by its signal too", async () => {
    await using runtime = await createRuntime({ memory: true, agent });
    const ending = new AbortController();
    const first = await runtime.consume("c", () => {}, { signal: ending.signal });
    const twice = runtime.consume("c", () => {});
    await expect(twice).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await using _ = await runtime.consume("d", () => {});
    ending.abort();
    await first.done;
    await setImmediate();
    await using again = await runtime.consume("c", () => {});
    expect(again.name).toBe("c");
  });

  it("is refused from a place before the first event", async () => {
    await using runtime = await createRuntime({ memory: true, agent });
    for (const from of [0, -5, 1.5])
      await expect(runtime.consume("c", () => {}, { from })).rejects.toMatchObject({
        code: "INVALID_INPUT",
        details: { option: "options.from" },
      });
  });

  it("lets its process close and end, also if nothing else happens there any more", async () => {
    const child = fileURLToPath(new URL("hanging-handler-child.ts", import.meta.url));
    const running = spawn(process.execPath, [child], {
      env: cleanEnvironment({}),
      stdio: ["ignore", "pipe", "inherit"],
    });
    expect(await text(running.stdout)).toBe("closed\n");
  });

  it("ends with its runtime, also if its handler never returns", async () => {
    const runtime = await createRuntime({ memory: true, agent, graceMs: 1 });
    await runtime.session("s");
    const begun = Promise.withResolvers<void>();
    const hanging = await runtime.consume("c", async () => {
      begun.resolve();
      await new Promise(() => {});
    });
    const idle = await runtime.consume("d", () => {});
    await begun.promise;
    await runtime.close();
    await idle.done;
    expect(hanging.position).toBe(0);
    await expect(runtime.consume("e", () => {})).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
  });

  it("gets a fork's own events only, and nothing of a session that was deleted before", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: notes });
    const session = await runtime.session("s");
    await ask(session, "One.");
    const gone = await runtime.session("gone");
    await ask(gone, "Secret.");
    await session.fork({ id: "f" });
    await runtime.delete("gone");
    const { handler, got, upTo } = kept();
    await using _ = await runtime.consume("c", handler);
    const expected = await all(runtime.log);
    await upTo(expected.at(-1)?.position ?? 0);
    expect(got.filter(({ session: name }) => name === "gone")).toEqual([]);
    const [first] = got.filter(({ session: name }) => name === "f");
    expect(first?.event.type).toBe("session.forked");
  });

  it("reads decrypted events of an encrypted store", async () => {
    await using log = await openMemoryLog();
    const encryption = { keys: memoryKeys() };
    await using runtime = await createRuntime({ log, agent, events: notes, encryption });
    const session = await runtime.session("s");
    const { position } = await session.append("app.noted", { n: 4 });
    const { handler, got, upTo } = kept();
    await using _ = await runtime.consume("c", handler);
    await upTo(position);
    expect(got.at(-1)?.event).toMatchObject({ type: "app.noted", data: { n: 4 } });
  });

  it("is refused on a log that stores no positions", async () => {
    await using log = await openMemoryLog();
    const plain = wrapLog(log, { cursors: undefined });
    await using runtime = await createRuntime({ log: plain, agent });
    await expect(runtime.consume("c", () => {})).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
  });
});

describe("the position of a consumer", () => {
  it("is in a backup", async () => {
    const root = await mkdtemp(join(tmpdir(), "turnlog-cursors-"));
    try {
      {
        await using log = await openLog({ dir: join(root, "store"), durability: "os" });
        await using runtime = await createRuntime({ log, agent });
        await ask(await runtime.session("s"), "One.");
        await log.cursors.save("c", 5);
        await log.backup(join(root, "copy"));
      }
      await using copy = await openLog({ dir: join(root, "copy"), create: false });
      expect(await copy.cursors.load("c")).toBe(5);
      expect(await readdir(join(root, "copy"))).not.toEqual([]);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});
