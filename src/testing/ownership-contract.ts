/** The contract of `EventLog.ownership`, as tests for any runner: one process at a time runs a session. */

import assert from "node:assert/strict";
import { TurnlogError, type Claim, type EventLog, type Ownership } from "../events/index.ts";
import type { ContractRunner } from "./event-log-contract.ts";
import { fails, numbered } from "./log-samples.ts";

export interface OwnershipContract extends ContractRunner {
  /** Opens a new, empty log for each test, which closes it. */
  readonly open: () => Promise<EventLog>;
  /** Opens the store of an open log as another process would. Omit it for a store that one process owns. */
  readonly beside?: (log: EventLog) => Promise<EventLog>;
  /** Lets the claims of a log lapse, as if its process had been silent for too long. */
  readonly silence?: (log: EventLog) => Promise<void>;
}

/**
 * States the promises of ownership as tests.
 * @example
 * import { describe, it } from "vitest";
 * ownershipContract("my log", { describe, it, open: () => openMyLog(), beside: (log) => openAgain(log) });
 */
export function ownershipContract(
  name: string,
  { describe, it, open, beside, silence }: OwnershipContract,
): void {
  const opened = async (check: (log: EventLog) => Promise<void>): Promise<void> => {
    const log = await open();
    try {
      await check(log);
    } finally {
      await log.close();
    }
  };
  const both = async (check: (one: EventLog, other: EventLog) => Promise<void>): Promise<void> =>
    await opened(async (one) => {
      const other = await (beside ?? open)(one);
      try {
        await check(one, other);
      } finally {
        await other.close();
      }
    });

  describe(`ownership: ${name}`, () => {
    it("gives a process a session, whether it exists or not, and takes it back", async () => {
      await opened(async (log) => {
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
      await opened(async (log) => {
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
      await opened(async (one) => {
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
