/** The contracts of `EventLog.inbox` and `EventLog.ownership`, as tests for any runner: one process runs a session, and commands reach it. */

import assert from "node:assert/strict";
import {
  type EventLog,
  type Inbox,
  type InboxCommand,
  TurnlogError,
  type Claim,
  type Ownership,
} from "../events/index.ts";
import type { ContractRunner } from "./event-log-contract.ts";
import { numbered, fails, onNewLog } from "./log-samples.ts";

function inboxContract(
  name: string,
  { describe, it, open, beside, silence }: OwnershipContract,
): void {
  const opened = (check: (inbox: Inbox, log: EventLog) => Promise<void>): Promise<void> =>
    onNewLog(open, (log) => check(inboxOf(log), log));

  describe(`inbox: ${name}`, () => {
    it("lists the commands of a session in order, each id once, until they are answered", async () => {
      await opened(async (inbox) => {
        for (const id of ["b", "a", "c"]) await inbox.post("s", command(id));
        await inbox.post("s", { ...command("a"), name: "other" });
        await inbox.post("t", command("a"));
        assert.deepEqual(await inbox.unanswered("s"), [command("b"), command("a"), command("c")]);
        await inbox.answer("s", "a", { done: true });
        assert.deepEqual(await inbox.unanswered("s"), [command("b"), command("c")]);
        assert.deepEqual(await inbox.unanswered("t"), [command("a")]);
      });
    });

    it("gives the first answer to every caller that waits for it, before or after it was given", async () => {
      await opened(async (inbox) => {
        await inbox.post("s", command("a"));
        const early = inbox.answerOf("s", "a");
        await inbox.answer("s", "a", { n: 1, text: 'é"\n' });
        await inbox.answer("s", "a", { n: 2 });
        assert.deepEqual(await early, { n: 1, text: 'é"\n' });
        await inbox.post("s", command("b"));
        await inbox.answer("s", "b", [null]);
        assert.deepEqual(await inbox.answerOf("s", "b"), [null]);
      });
    });

    it("stops waiting when the signal aborts or the log is closed", async () => {
      const log = await open();
      const inbox = inboxOf(log);
      const left = new AbortController();
      const why = new Error("left");
      const waits = inbox.answerOf("s", "a", left.signal);
      const closes = assert.rejects(inbox.answerOf("s", "b"), { code: "LOG_CLOSED" });
      left.abort(why);
      await assert.rejects(waits, (error) => error === why);
      await log.close();
      await closes;
    });

    it("reports which sessions have commands: those without a process, and those of this process", async () => {
      await opened(async (inbox, log) => {
        await log.ownership?.claim("own");
        for (const session of ["own", "nobodys"]) await inbox.post(session, command("a"));
        await heard(inbox, ["nobodys", "own"]);
        for (const session of ["own", "nobodys"]) await inbox.answer(session, "a", null);
      });
    });

    if (beside === undefined) return;

    it("leaves a session to the living process that runs it, which answers", async () => {
      await opened(async (inbox, log) => {
        const other = await beside(log);
        try {
          const claim = await other.ownership?.claim("theirs");
          assert.ok(claim !== undefined);
          await inbox.post("theirs", command("a"));
          await inbox.post("free", command("a"));
          const seen = await heard(inbox, ["free"]);
          assert.ok(!seen.has("theirs"));
          await heard(inboxOf(other), ["theirs"]);
          // A process that does not have the session cannot answer for it.
          await inbox.answer("theirs", "a", "wrong");
          const answer = inbox.answerOf("theirs", "a");
          await inboxOf(other).answer("theirs", "a", "right");
          assert.equal(await answer, "right");
          await claim.release({ unfinished: true });
          await heard(inbox, ["theirs"]);
        } finally {
          await other.close();
        }
      });
    });

    it("leaves a session that was deleted to the process that has it, until it has answered", async () => {
      await opened(async (inbox, log) => {
        const other = await beside(log);
        try {
          const claim = await other.ownership?.claim("theirs");
          assert.ok(claim !== undefined);
          await other.append("theirs", "none", [numbered(1)]);
          await inbox.post("theirs", command("a"));
          await inbox.post("free", command("a"));
          await other.delete("theirs");
          assert.ok(!(await heard(inbox, ["free"])).has("theirs"));
          await inbox.answer("theirs", "a", "wrong");
          await inboxOf(other).answer("theirs", "a", "right");
          assert.equal(await inbox.answerOf("theirs", "a"), "right");
          await claim.release();
        } finally {
          await other.close();
        }
      });
    });

    if (silence === undefined) return;

    it("names the sessions of a process that fell silent, with or without commands", async () => {
      await opened(async (_, log) => {
        const other = await beside(log);
        try {
          await log.ownership?.claim("s");
          await silence(log);
          await heard(inboxOf(other), ["s"]);
          const claim = await other.ownership?.claim("s");
          assert.ok(claim !== undefined);
        } finally {
          await other.close();
        }
      });
    });
  });
}

function command(id: string): InboxCommand {
  return { id, name: "send", args: [`text of ${id}`, { id }] };
}

function inboxOf({ inbox }: EventLog): Inbox {
  assert.ok(inbox !== undefined, "the log has no `inbox`");
  return inbox;
}

/** Resolves with all sessions that were named, once these are among them. */
async function heard(inbox: Inbox, sessions: readonly string[]): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const all = Promise.withResolvers<void>();
  using _ = inbox.onDue((session) => {
    seen.add(session);
    if (sessions.every((wanted) => seen.has(wanted))) all.resolve();
  });
  await all.promise;
  return seen;
}

// The contract of `EventLog.ownership`, as tests for any runner: one process at a time runs a session.

interface OwnershipContract extends ContractRunner {
  /** Opens a new, empty log for each test, which closes it. */
  readonly open: () => Promise<EventLog>;
  /** Opens the store of an open log as another process would. Omit it for a store that one process owns. */
  readonly beside?: (log: EventLog) => Promise<EventLog>;
  /** Lets the claims of a log lapse, as if its process had been silent for too long. */
  readonly silence?: (log: EventLog) => Promise<void>;
  /** Whether the log has an `inbox`, through which processes send each other commands. Default false. */
  readonly inbox?: boolean;
}

/**
 * States the promises of ownership as tests, and with `inbox` those of an inbox.
 * @example
 * import { describe, it } from "vitest";
 * const beside = openAgain;
 * ownershipContract("my log", { describe, it, open: () => openMyLog(), beside, inbox: true });
 */
export function ownershipContract(name: string, contract: OwnershipContract): void {
  const { describe, it, open, beside, silence, inbox = false } = contract;
  if (inbox) inboxContract(name, contract);
  const both = async (check: (one: EventLog, other: EventLog) => Promise<void>): Promise<void> =>
    await onNewLog(open, async (one) => {
      const other = await (beside ?? open)(one);
      try {
        await check(one, other);
      } finally {
        await other.close();
      }
    });

  describe(`ownership: ${name}`, () => {
    it("gives a process a session, whether it exists or not, and takes it back", async () => {
      await onNewLog(open, async (log) => {
        for (let turn = 0; turn < 3; turn++) {
          const claim = await taken(log, "s");
          claim.assertHeld();
          assert.equal(claim.lost.aborted, false);
          await append(log, "s", claim, turn);
          await claim.release();
        }
        assert.equal(await log.revision("s"), 3);
      });
    });

    it("creates no session by a claim", async () => {
      await onNewLog(open, async (log) => {
        await taken(log, "s");
        assert.equal(await log.revision("s"), 0);
        assert.deepEqual(await Array.fromAsync(log.list()), []);
      });
    });

    if (beside === undefined) return;

    it("tells every process which sessions are taken, if it can", async () => {
      await both(async (one, other) => {
        const claim = await taken(one, "s");
        const sessions = await other.ownership?.taken?.();
        if (sessions !== undefined) assert.deepEqual([...sessions], ["s"]);
        await claim.release();
        assert.equal((await other.ownership?.taken?.())?.size ?? 0, 0);
      });
    });

    it("gives a session to one process at a time, and then to the next, which sees all events", async () => {
      await both(async (one, other) => {
        const first = await taken(one, "s");
        assert.equal(await owner(other).claim("s"), undefined);
        await taken(other, "t");
        await append(one, "s", first, 1);
        await first.release();
        const second = await taken(other, "s");
        assert.ok((second.epoch ?? 0) > (first.epoch ?? 0));
        assert.equal((await append(other, "s", second, 2)).revision, 2);
        const late = await fails("SESSION_ELSEWHERE", () => append(one, "s", first, 3));
        assert.equal(late.session, "s");
        assert.equal(await owner(one).claim("s"), undefined);
        await second.release();
        assert.equal((await append(one, "s", await taken(one, "s"), 4)).revision, 3);
      });
    });

    it("gives each session to exactly one of many processes that claim it at the same time", async () => {
      await both(async (one, other) => {
        const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
        const asked = names.flatMap((name) =>
          [one, other, one].map(async (log) => ((await owner(log).claim(name)) ? [name] : [])),
        );
        assert.deepEqual((await Promise.all(asked)).flat().toSorted(), names.toSorted());
      });
    });

    it("leaves appends without an epoch to every process", async () => {
      await both(async (one, other) => {
        const claim = await taken(one, "s");
        await append(one, "s", claim, 1);
        assert.equal((await other.append("s", "any", [numbered(2)])).revision, 2);
        assert.equal((await append(one, "s", claim, 3)).revision, 3);
      });
    });

    it("gives the sessions of a closed log to others immediately", async () => {
      await onNewLog(open, async (one) => {
        const other = await beside(one);
        await taken(other, "s");
        await other.close();
        await taken(one, "s");
      });
    });

    if (silence === undefined) return;

    it("takes the sessions of a silent process, and refuses what it still writes", async () => {
      await both(async (one, other) => {
        const stale = await taken(one, "s");
        await append(one, "s", stale, 1);
        await silence(one);
        const claim = await taken(other, "s");
        const late = [append(one, "s", stale, 2), append(one, "s", stale, 3)];
        for (const refused of late) await fails("SESSION_ELSEWHERE", () => refused);
        assert.equal((await append(other, "s", claim, 4)).revision, 2);
        const events = await Array.fromAsync(one.read("s"));
        assert.deepEqual(
          events.map(({ time }) => time),
          [1001, 1004],
        );
      });
    });

    it("tells a silent process that it has lost its sessions; it may take others", async () => {
      await both(async (one) => {
        const claim = await taken(one, "s");
        const lost = new Promise<unknown>((resolve) => {
          claim.lost.addEventListener("abort", () => {
            resolve(claim.lost.reason);
          });
        });
        await silence(one);
        const why = await lost;
        assert.ok(TurnlogError.isInstance(why) && why.code === "SESSION_ELSEWHERE");
        await fails("SESSION_ELSEWHERE", async () => {
          claim.assertHeld();
        });
        (await taken(one, "t")).assertHeld();
        assert.ok(((await taken(one, "s")).epoch ?? 0) > (claim.epoch ?? 0));
      });
    });
  });
}

function owner({ ownership }: EventLog): Ownership {
  assert.ok(ownership !== undefined, "the log has no `ownership`");
  return ownership;
}

async function taken(log: EventLog, session: string): Promise<Claim> {
  const claim = await owner(log).claim(session);
  assert.ok(claim !== undefined, `another process has ${session}`);
  return claim;
}

function append(
  log: EventLog,
  session: string,
  { epoch }: Claim,
  number: number,
): ReturnType<EventLog["append"]> {
  return log.append(session, "any", [numbered(number)], epoch === undefined ? {} : { epoch });
}
