/** Messages for later: they wait in the log, come in the order of their times, and survive their process. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
  type TurnlogError,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import type { Timer } from "../../src/shared/index.ts";
import { systemTimer } from "../../src/shared/index.ts";
import { runs } from "../support/runs.ts";
import { storedEvents } from "../support/replay.ts";

/** A clock that the test sets, and the one timer for messages that are for later. */
class Time {
  now = Date.parse("2026-03-01T09:00:00Z");
  #due: { readonly at: number; readonly run: () => void } | undefined;
  waits = 0;

  readonly timer: Timer = (milliseconds, due, wait) => {
    if (wait.kind !== "later") return systemTimer(milliseconds, due, wait);
    this.waits += 1;
    const one = { at: this.now + milliseconds, run: due };
    this.#due = one;
    return {
      [Symbol.dispose]: () => {
        this.waits -= 1;
        if (this.#due === one) this.#due = undefined;
      },
    };
  };

  /** Lets time pass as on a machine that runs. */
  pass(milliseconds: number): void {
    const end = this.now + milliseconds;
    while (this.#due !== undefined && this.#due.at <= end) {
      const { at, run } = this.#due;
      this.now = Math.max(this.now, at);
      this.#due = undefined;
      this.waits = 0;
      run();
    }
    this.now = end;
  }

  /** Lets the clock go on while no timer does, and the machine wake up for a moment. */
  sleep(milliseconds: number): void {
    this.now += milliseconds;
    const { run } = this.#due ?? {};
    this.#due = undefined;
    run?.();
  }

  at(milliseconds: number): Date {
    return new Date(this.now + milliseconds);
  }
}

const agent = { model: scriptedModel(() => "Done.") };

async function open(log: EventLog, time: Time, more: object = {}): Promise<Runtime> {
  const testing = { clock: () => time.now, timer: time.timer };
  return await createRuntime({ log, agent, ...more, testing });
}

async function delivered(log: EventLog, session = "s"): Promise<readonly string[]> {
  return (await storedEvents(log, session)).flatMap((event) =>
    event.type === "message.delivered" ? event.data.ids : [],
  );
}

describe("a message for later", () => {
  it("waits, starts no turn, and is delivered when its time has come", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    await using runtime = await open(log, time);
    const session = await runtime.session("s");
    const turn = await session.send("Water the plants.", { id: "m", notBefore: time.at(60_000) });
    expect(turn.queued).toBe(true);
    time.pass(59_999);
    await session.idle();
    expect((await session.view()).queue).toMatchObject([{ id: "m", notBefore: time.now + 1 }]);
    expect(await delivered(log)).toEqual([]);
    time.pass(1);
    expect(await turn.result).toMatchObject({ turn: 1, text: "Done." });
    expect((await session.view()).queue).toEqual([]);
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });

  it("takes an ISO time with a zone, and a time that has passed means now", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    await using runtime = await open(log, time);
    const session = await runtime.session("s");
    await (
      await session.send("Now.", { notBefore: "2026-03-01T10:00:00+01:00" })
    ).result;
    await session.send("Later.", { id: "l", notBefore: "2026-03-01T10:00:01+01:00" });
    expect((await session.view()).queue).toMatchObject([{ id: "l", notBefore: time.now + 1000 }]);
    for (const notBefore of ["2026-03-01T10:00:00", "tomorrow", new Date(Number.NaN)])
      await expect(session.send("?", { notBefore })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    await expect(session.send("?", { replaces: "l", notBefore: time.at(1) })).rejects.toMatchObject(
      { code: "INVALID_INPUT" },
    );
  });

  it("is for now if its time comes while it is received", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    const callOptionsSchema = z.object({}).refine(async () => {
      time.now += 1000;
      return true;
    });
    const prepareCall: Agent["prepareCall"] = ({ options: _, ...settings }) => settings;
    const preparing = { ...agent, callOptionsSchema, prepareCall };
    await using runtime = await open(log, time, { agent: preparing });
    const session = await runtime.session("s");
    const turn = await session.send("Soon.", { options: {}, notBefore: time.at(500) });
    expect((await turn.result).text).toBe("Done.");
    const events = await storedEvents(log, "s");
    const queued = events.find(({ type }) => type === "message.queued");
    expect(queued?.data).not.toHaveProperty("notBefore");
    expect((await replay(events, agent)).difference).toBeUndefined();
  });

  it("does not hold up messages that were sent after it, nor release those that are held", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    const model = scriptedModel(() => "Done.");
    await using runtime = await open(log, time, { agent: { model } });
    const session = await runtime.session("s");
    await session.send("Later.", { id: "later", notBefore: time.at(1000) });
    await (
      await session.send("Now.", { id: "now" })
    ).result;
    expect(await delivered(log)).toEqual(["now"]);
    time.pass(1000);
    await session.idle();
    await (
      await session.turn("later")
    ).result;
    expect(await delivered(log)).toEqual(["now", "later"]);
  });

  it("can be moved, made due, and withdrawn", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    await using runtime = await open(log, time);
    const session = await runtime.session("s");
    for (const id of ["a", "b", "c"]) await session.send(id, { id, notBefore: time.at(5000) });
    await session.reschedule("a", { notBefore: time.at(9000) });
    await session.reschedule("b", { delivery: "steer" });
    await session.withdraw("c");
    expect((await session.view()).queue).toMatchObject([
      { id: "b", delivery: "steer", notBefore: time.now + 5000 },
      { id: "a", delivery: "follow-up", notBefore: time.now + 9000 },
    ]);
    await session.reschedule("a", { notBefore: time.at(0) });
    await (
      await session.turn("a")
    ).result;
    time.pass(5000);
    await (
      await session.turn("b")
    ).result;
    expect(await delivered(log)).toEqual(["a", "b"]);
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });

  it("may be sent again under its id, but not with another time", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    await using runtime = await open(log, time);
    const session = await runtime.session("s");
    const notBefore = time.at(5000);
    const [first, again] = [
      await session.send("Later.", { id: "m", notBefore }),
      await session.send("Later.", { id: "m", notBefore }),
    ];
    expect([again.queuePosition, again.queued]).toEqual([first.queuePosition, true]);
    await expect(
      session.send("Later.", { id: "m", notBefore: time.at(6000) }),
    ).rejects.toMatchObject({ code: "MESSAGE_CONFLICT" });
    expect((await session.view()).queue).toHaveLength(1);
    // The time that it was moved to is no other time.
    await session.reschedule("m", { notBefore: time.at(6000) });
    const moved = await session.send("Later.", { id: "m", notBefore: time.at(6000) });
    expect(moved.queuePosition).toBe(first.queuePosition);
  });

  it("is found by the next process without the others being opened, overdue ones in order", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    const before = await open(log, time);
    for (const id of ["none", "x", "y"]) await before.session(id);
    await (await before.session("x")).send("2", { id: "x2", notBefore: time.at(2000) });
    await (await before.session("x")).send("1", { id: "x1", notBefore: time.at(1000) });
    await (await before.session("y")).send("1", { id: "y1", notBefore: time.at(3_000_000_000) });
    await before.close();
    time.now += 5000;
    await using runtime = await open(log, time);
    const { scheduled } = await runtime.resumeAll();
    expect(scheduled).toEqual(["x", "y"]);
    time.pass(0);
    const session = await runtime.session("x", { createIfMissing: false });
    await (
      await session.turn("x2")
    ).result;
    expect(await delivered(log, "x")).toEqual(["x1", "x2"]);
    // Longer than Node's longest timeout.
    time.now += 3_000_000_000;
    time.pass(0);
    await (
      await (await runtime.session("y")).turn("y1")
    ).result;
    expect(await delivered(log, "none")).toEqual([]);
  });

  it("comes soon after a machine has slept", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    await using runtime = await open(log, time);
    const session = await runtime.session("s");
    const turn = await session.send("Wake up.", { notBefore: time.at(3_600_000) });
    time.pass(1000);
    time.sleep(7_200_000);
    expect(await turn.result).toMatchObject({ text: "Done." });
  });

  it("is not delivered by a closed session, nor by a closed runtime", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    const runtime = await open(log, time);
    const session = await runtime.session("s");
    await session.send("Later.", { notBefore: time.at(1000) });
    await (await runtime.session("t")).send("Later.", { notBefore: time.at(1000) });
    await session.close();
    await runtime.close();
    time.pass(2000);
    expect([...(await delivered(log)), ...(await delivered(log, "t"))]).toEqual([]);
    await using next = await open(log, time);
    expect((await next.resumeAll()).scheduled).toEqual(["t"]);
  });

  it("is gone with its session: nothing is delivered, and nobody is warned", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    const warnings: TurnlogError[] = [];
    const onWarning = (warning: TurnlogError): void => void warnings.push(warning);
    const runtime = await open(log, time, { onWarning });
    for (const id of ["s", "t"])
      await (await runtime.session(id)).send("Later.", { id: "m", notBefore: time.at(1000) });
    await runtime.delete("s");
    time.pass(1000);
    await (
      await (await runtime.session("t")).turn("m")
    ).result;
    await runtime.close();
    expect(warnings).toEqual([]);
  });

  it("waits for one timer, however many sessions have one", async () => {
    const [log, time] = [await openMemoryLog(), new Time()];
    await using runtime = await open(log, time);
    for (let index = 0; index < 20; index++) {
      const session = await runtime.session(`s${index}`);
      await session.send("Later.", { notBefore: time.at(1000 + index) });
    }
    expect(time.waits).toBe(1);
  });
});

it("messages come in the order of their times, whatever the order of sending and restarts", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
      async (times, passes) => {
        const [log, time] = [await openMemoryLog(), new Time()];
        const start = time.now;
        let runtime = await open(log, time);
        for (const [index, at] of times.entries()) {
          const session = await runtime.session("s");
          await session.send("Go.", { id: `${index}`, notBefore: new Date(start + at * 1000) });
        }
        for (const seconds of [...passes, 20]) {
          time.pass(seconds * 1000);
          const due = times.flatMap((at, id) => (start + at * 1000 <= time.now ? [`${id}`] : []));
          const session = await runtime.session("s");
          for (const id of due) await (await session.turn(id)).result;
          expect(await delivered(log)).toHaveLength(due.length);
          await runtime.close();
          time.now += 500;
          runtime = await open(log, time);
          await runtime.resumeAll();
          time.pass(0);
        }
        const inOrder = [...times.keys()].toSorted(
          (one, other) => (times[one] ?? 0) - (times[other] ?? 0) || one - other,
        );
        expect(await delivered(log)).toEqual(inOrder.map(String));
        expect((await verifySession(log, "s")).problems).toEqual([]);
        await runtime.close();
      },
    ),
    runs(10),
  );
});
