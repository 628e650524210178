/** A consumer while its store is away: it waits, says so once, continues, and skips nothing. */

import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineEvents,
  openMemoryLog,
  TurnlogError,
  type Runtime,
  type StoreLog,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { failingLog, type FailingLog } from "../support/failing-log.ts";
import { testTime, type TestTime } from "../support/test-time.ts";
import type { Consumer } from "../../src/runtime/index.ts";

const notes = defineEvents({ "app.noted": z.object({ n: z.number() }) });
const agent = { model: scriptedModel(() => "Fine.") };
const HOUR = 3_600_000;

interface Consumed extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly log: FailingLog<StoreLog>;
  readonly time: TestTime;
  readonly consumer: Consumer;
  readonly warnings: TurnlogError[];
  /** The numbers that the handler got. */
  readonly got: number[];
  readonly stored: () => Promise<number | undefined>;
  /** Appends the numbers to the log behind the one that fails. */
  readonly note: (...numbers: readonly number[]) => Promise<void>;
}

async function consumed(signal?: AbortSignal): Promise<Consumed> {
  const real = await openMemoryLog();
  const log = failingLog(real);
  const time = testTime();
  const warnings: TurnlogError[] = [];
  const got: number[] = [];
  const runtime = await createRuntime({
    log: log.log,
    agent,
    events: notes,
    onWarning: (warning) => void warnings.push(warning),
    testing: { clock: time.clock, timer: time.timer },
  });
  const handler = ({ event }: { readonly event: { readonly data: unknown } }): void => {
    const { n } = z.object({ n: z.number().optional() }).parse(event.data);
    if (n !== undefined) got.push(n);
  };
  const consumer = await runtime.consume("c", handler, signal === undefined ? {} : { signal });
  return {
    runtime,
    log,
    time,
    consumer,
    warnings,
    got,
    stored: () => real.cursors.load("c"),
    note: async (...numbers) => {
      const events = numbers.map((n) => ({ time: 1, type: "app.noted" as const, data: { n } }));
      await real.append("s", "any", events);
      await time.pass(0);
    },
    async [Symbol.asyncDispose]() {
      log.back();
      await runtime.close();
      await real.close();
    },
  };
}

describe("a consumer in an outage", () => {
  it.each(["cursors.save", "subscribeAll", undefined] as const)(
    "of %s continues after an hour without a gap, and says once that it waits",
    async (method) => {
      await using open = await consumed();
      const { log, time, consumer, warnings, got, note, stored } = open;
      await note(1, 2);
      for (const outage of [1, 2]) {
        if (method === undefined) log.outage();
        else log.fails(method);
        await note(outage * 10, outage * 10 + 1);
        await time.pass(HOUR);
        expect(warnings).toHaveLength(outage);
        expect(warnings.at(-1)).toMatchObject({ code: "LOG_FAILED", details: { consumer: "c" } });
        log.back();
        await time.pass(10_000);
        await note(outage * 10 + 2);
      }
      expect(got).toEqual([1, 2, 10, 11, 12, 20, 21, 22]);
      expect(await stored()).toBe(consumer.position);
      await consumer.stop();
      await consumer.done;
    },
  );

  it("handles no more than it may have to handle again", async () => {
    await using open = await consumed();
    const { log, time, got, note } = open;
    log.fails("cursors.save");
    await note(1);
    await note(2, 3, 4);
    expect(got).toEqual([1]);
    log.back();
    await time.pass(10_000);
    expect(got).toEqual([1, 2, 3, 4]);
  });

  it("notices another outage although nothing happened in between", async () => {
    await using open = await consumed();
    const { log, time, warnings } = open;
    for (const outages of [1, 2]) {
      log.outage();
      await time.pass(1000);
      log.back();
      await time.pass(60_000);
      expect(warnings).toHaveLength(outages);
    }
  });

  it("asks less and less often", async () => {
    await using open = await consumed();
    const { log, time } = open;
    log.outage();
    await time.pass(60_000);
    const tries = log.calls("subscribeAll");
    expect(tries).toBeGreaterThan(6);
    await time.pass(60_000);
    expect(log.calls("subscribeAll") - tries).toBeLessThan(8);
  });

  it("stops when it is told to, and says that its position could not be stored", async () => {
    await using open = await consumed();
    const { log, time, consumer, note, got } = open;
    await note(1);
    log.outage();
    log.back();
    log.fails("cursors.save");
    await time.pass(1000);
    await note(2);
    const lost = { code: "LOG_FAILED", details: { consumer: "c", globalPosition: 2 } };
    await expect(consumer.stop()).rejects.toMatchObject(lost);
    await consumer.done;
    log.back();
    const again: number[] = [];
    await using _ = await open.runtime.consume("c", ({ position }) => void again.push(position));
    await time.pass(0);
    expect([got, again]).toEqual([[1, 2], [2]]);
  });

  it("stops by its signal and with its runtime, which warn of the position", async () => {
    for (const how of ["signal", "close"]) {
      const ending = new AbortController();
      await using open = await consumed(ending.signal);
      const { log, consumer, warnings, note, runtime } = open;
      log.outage();
      log.back();
      log.fails("cursors.save");
      await open.time.pass(1000);
      await note(1);
      if (how === "signal") ending.abort();
      else await runtime.close();
      await consumer.done;
      expect(warnings.at(-1)?.message).toContain("The consumer c has stopped, and its position 1");
    }
  });

  it("stops while the log cannot be read, and has lost nothing", async () => {
    await using open = await consumed();
    await open.note(1);
    open.log.fails("subscribeAll");
    open.log.outage();
    await open.time.pass(1000);
    await open.consumer.stop();
    await open.consumer.done;
    expect(await open.stored()).toBe(1);
  });

  it("still ends by its handler's error", async () => {
    const log = failingLog(await openMemoryLog());
    const warnings: string[] = [];
    const onWarning = ({ code }: TurnlogError): void => void warnings.push(code);
    await using runtime = await createRuntime({ log: log.log, agent, onWarning });
    log.fails("cursors.save");
    const consumer = await runtime.consume("c", ({ position }) => {
      if (position === 1) throw new Error("no such table");
    });
    await runtime.session("s");
    await expect(consumer.done).rejects.toMatchObject({ code: "CALLBACK_FAILED" });
    expect(warnings).toEqual(["CALLBACK_FAILED"]);
  });

  it("ends at an event that cannot be read: waiting mends nothing", async () => {
    const real = await openMemoryLog();
    const log = failingLog(real, () => new TurnlogError("LOG_DAMAGED", "A row is altered."));
    await using runtime = await createRuntime({ log: log.log, agent, onWarning: () => {} });
    log.fails("subscribeAll");
    const consumer = await runtime.consume("c", () => {});
    await expect(consumer.done).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  });
});

it("the position of a consumer is stored when it stops, though a write was under way", async () => {
  const real = await openMemoryLog();
  const held = Promise.withResolvers<void>();
  const writes: string[] = [];
  const cursors = {
    load: (name: string) => real.cursors.load(name),
    save: async (name: string, position: number) => {
      if (writes.push(`begin ${position}`) === 1) await held.promise;
      await real.cursors.save(name, position);
      writes.push(`end ${position}`);
    },
  };
  await real.append(
    "s",
    "none",
    [1, 2, 3].map((n) => ({ time: 1, type: "app.noted", data: { n } })),
  );
  const log = wrapLog(real, { cursors });
  await using runtime = await createRuntime({ log, agent, events: notes });
  const all = Promise.withResolvers<void>();
  const consumer = await runtime.consume("c", ({ position }) => {
    if (position === 3) all.resolve();
  });
  await all.promise;
  const stopped = consumer.stop();
  await setImmediate();
  held.resolve();
  await stopped;
  expect(await real.cursors.load("c")).toBe(3);
  // The older position would win if its write came last.
  expect(writes).toEqual(["begin 1", "end 1", "begin 3", "end 3"]);
});
