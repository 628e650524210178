/** A log that stops accepting events, at any moment: nothing that was accepted is lost. */

import { describe, expect, it } from "vitest";
import type { ExpectedRevision } from "../../src/events/index.ts";
import {
  createRuntime,
  openMemoryLog,
  TurnlogError,
  type EventLog,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { eventually } from "../support/eventually.ts";
import { storedEvents } from "../support/replay.ts";
import { failingLog } from "../support/failing-log.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { echo } from "./tools.ts";

const full = new TurnlogError("LOG_FULL", "The disk is full.");

interface Failing {
  readonly log: EventLog;
  readonly appends: number;
  /** The position before the refused append. */
  readonly refusedAfter: ExpectedRevision | undefined;
}

/** Refuses the `nth` append, in its turn, and takes all others as they come. */
function failingOnce(log: EventLog, nth: number): Failing {
  let appends = 0;
  let refusedAfter: ExpectedRevision | undefined;
  let before: Promise<unknown> = Promise.resolve();
  const failing = wrapLog(log, {
    append: (session, expected, events) => {
      appends += 1;
      const fails = appends === nth;
      if (fails) refusedAfter = expected;
      const appended = before.then(() =>
        fails ? Promise.reject(full) : log.append(session, expected, events),
      );
      before = appended.catch(() => undefined);
      return appended;
    },
  });
  return {
    log: failing,
    get appends() {
      return appends;
    },
    get refusedAfter() {
      return refusedAfter;
    },
  };
}

/** What a promise was rejected with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

const script = [
  calling(
    { type: "text", deltas: ["I ", "look."] },
    call("echo", "1", { value: 1 }),
    call("echo", "2", { value: 2 }),
  ),
  saying("Do", "ne."),
];

/** How many appends the whole turn takes. */
async function appendsOfTurn(): Promise<number> {
  await using log = await openMemoryLog();
  const counting = failingOnce(log, Number.POSITIVE_INFINITY);
  await using open = await openSession(
    { model: scriptedModel(script), tools: { echo } },
    { log: counting.log },
  );
  await (
    await open.session.send("Go.")
  ).result;
  return counting.appends;
}

describe("a log that refuses one append", () => {
  it("fails the session wherever that is, and the session continues from what is stored", async () => {
    const appends = await appendsOfTurn();
    expect(appends).toBeGreaterThan(12);
    for (let nth = 2; nth <= appends; nth++) {
      await using log = await openMemoryLog();
      const model = scriptedModel(({ prompt }) =>
        JSON.stringify(prompt).includes("Again.")
          ? "Here I am."
          : (script[model.calls.length - 1] ?? "Done."),
      );
      const failing = failingOnce(log, nth);
      await using open = await openSession({ model, tools: { echo } }, { log: failing.log });
      const failed = open.session.send("Go.").then(async (turn) => await turn.result);
      expect(await rejection(failed), `append ${nth}`).toMatchObject({
        code: "SESSION_FAILED",
        session: "s",
        position: failing.refusedAfter,
        cause: full,
      });
      expect(await storedEvents(log, "s")).toHaveLength(Number(failing.refusedAfter));
      // The same handle, the same runtime: it is opened anew from its log.
      const turn = await open.session.send("Again.");
      expect(await turn.result, `append ${nth}`).toMatchObject({
        finishReason: "stop",
        text: "Here I am.",
      });
      expect((await open.session.view()).queue).toEqual([]);
    }
  });

  it("before the session is there refuses the session, which can be opened again", async () => {
    await using log = await openMemoryLog();
    const model = scriptedModel(["Here I am."]);
    const opening = openSession({ model }, { log: failingOnce(log, 1).log });
    await expect(opening).rejects.toMatchObject({ code: "SESSION_FAILED" });
    await using open = await openSession({ model }, { log });
    expect(await (await open.session.send("Go.")).result).toMatchObject({ text: "Here I am." });
  });

  it.each(["the first", "each"])(
    "fails the opening of a session if %s append of its recovery is refused, which can be opened again",
    async (which) => {
      await using log = await openMemoryLog();
      const dying = severableLog(log);
      const hold = gate();
      const first = await openSession(
        { model: scriptedModel([saying("One ", hold)]) },
        { log: dying },
      );
      await first.session.send("Go.");
      await hold.reached;
      await eventually(async () => (await storedEvents(log, "s")).length > 6);
      dying.sever();
      let tries = 0;
      // At once: the actor fails before its activation is complete.
      const refusing = wrapLog(log, {
        append: (...append) => {
          tries += 1;
          if (tries > 20) return new Promise<never>(() => {});
          if (which === "each" ? !isMended : tries === 1) return Promise.reject(full);
          return log.append(...append);
        },
      });
      let isMended = false;
      const model = scriptedModel(["Here I am."]);
      await using runtime = await createRuntime({ log: refusing, agent: { model } });
      const failed = { code: "SESSION_FAILED", session: "s", cause: full };
      await expect(runtime.session("s")).rejects.toMatchObject(failed);
      const again = await runtime.resumeAll();
      expect(again.failed).toMatchObject(which === "each" ? [{ error: failed }] : []);
      isMended = true;
      const session = await runtime.session("s");
      expect(await (await session.send("Again.")).result).toMatchObject({ text: "Here I am." });
      expect(tries).toBeLessThan(20);
    },
  );

  it("fails everything that waits on the session: results, cancels and answers", async () => {
    await using log = await openMemoryLog();
    const hold = gate();
    let broken = false;
    const refusing = wrapLog(log, {
      append: (...append) => (broken ? Promise.reject(full) : log.append(...append)),
    });
    await using open = await openSession(
      { model: scriptedModel([saying("One ", hold, "two.")]) },
      { log: refusing },
    );
    const turn = await open.session.send("Go.");
    const waiting = [rejection(turn.result), rejection(open.session.idle())];
    await hold.reached;
    broken = true;
    await expect(open.session.cancel()).rejects.toMatchObject({ code: "SESSION_FAILED" });
    const failed = { code: "SESSION_FAILED" };
    expect(await Promise.all(waiting)).toMatchObject([failed, failed]);
    broken = false;
    const events = await open.events();
    await open.session.idle();
    expect((await open.events()).slice(0, events.length)).toEqual(events);
    expect((await open.session.view()).summary.lastEnd).toBe("interrupted");
  });
});

it("a snapshot that cannot be stored is reported and loses nothing", async () => {
  await using log = await openMemoryLog();
  const warnings: TurnlogError[] = [];
  const refusing = wrapLog(log, { saveSnapshot: () => Promise.reject(full) });
  const onWarning = (error: TurnlogError): void => {
    warnings.push(error);
  };
  await using open = await openSession(
    { model: scriptedModel(["One.", "Two."]) },
    { log: refusing, onWarning },
  );
  await (
    await open.session.send("Go.")
  ).result;
  expect(await (await open.session.send("Go on.")).result).toMatchObject({ text: "Two." });
  await open.runtime.close();
  // Once, however often it was tried.
  expect(warnings).toMatchObject([{ code: "LOG_FAILED", session: "s", cause: full }]);
});

it("a snapshot that could not be stored is stored at the next occasion", async () => {
  await using log = await openMemoryLog();
  const failing = failingLog(log);
  const open = await openSession(
    { model: scriptedModel(["One."]) },
    { log: failing.log, onWarning: () => {} },
  );
  failing.fails("saveSnapshot");
  await (
    await open.session.send("Go.")
  ).result;
  await open.session.idle();
  failing.back();
  await open.runtime.close();
  const { position } = (await log.loadSnapshot("s", "session-summary")) ?? {};
  expect(position).toBe(await log.revision("s"));
});
