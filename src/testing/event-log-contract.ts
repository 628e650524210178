/** The contract of every `EventLog`, as tests for any runner. Run it on your own implementation. */

import assert from "node:assert/strict";
import type { EventLog } from "../events/index.ts";
import { appendContract, idempotencyContract } from "./log-append-contract.ts";
import { deleteContract } from "./log-delete-contract.ts";
import { followContract, subscribeContract } from "./log-subscribe-contract.ts";
import { forkContract } from "./log-fork-contract.ts";
import { lifetimeContract } from "./log-lifetime-contract.ts";
import { readContract } from "./log-read-contract.ts";
import { fails, forked, onNewLog, type Promised } from "./log-samples.ts";

/** The part of a test runner that the contracts need. */
export interface ContractRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (promise: string, body: () => Promise<void>) => unknown;
}

export interface EventLogContract extends ContractRunner {
  /** Opens a new, empty log for each test, which closes it. */
  readonly open: () => Promise<EventLog>;
  /** Opens the store of a closed log again. Omit it for a log in memory. */
  readonly reopen?: (closed: EventLog) => Promise<EventLog>;
}

/**
 * States the promises of an event log as tests.
 * @example
 * import { describe, it } from "vitest";
 * eventLogContract("my log", { describe, it, open: () => openMyLog() });
 */
export function eventLogContract(
  name: string,
  { describe, it, open, reopen }: EventLogContract,
): void {
  const groups: Readonly<Record<string, readonly Promised[]>> = {
    append: appendContract,
    "append with event ids": idempotencyContract,
    read: readContract,
    subscribe: subscribeContract,
    "subscribe to all": followContract,
    fork: forkContract,
    delete: deleteContract,
    "list, snapshots and close": lifetimeContract,
  };
  describe(`event log: ${name}`, () => {
    for (const [group, promises] of Object.entries(groups)) {
      describe(group, () => {
        for (const [promise, check] of promises) it(promise, () => onNewLog(open, check));
      });
    }
    if (reopen !== undefined) {
      it("has everything that was appended after reopening, and continues from there", () =>
        keepsEverything(open, reopen));
    }
  });
}

async function keepsEverything(
  open: () => Promise<EventLog>,
  reopen: (closed: EventLog) => Promise<EventLog>,
): Promise<void> {
  const log = await open();
  const event = { type: "message.withdrawn", time: 7, data: { ids: ["a"] }, id: "one" } as const;
  const first = await log.append("s", "none", [event, { ...event, id: "two" }]);
  await log.saveSnapshot("s", {
    projection: "p",
    version: 1,
    position: 2,
    state: [1, { a: null }],
  });
  await log.cursors?.save("reader", 2);
  await log.fork("f", [forked("s", 1)]);
  await log.append("gone", "none", [event]);
  await log.delete("gone");
  // Not awaited: `close` waits for it.
  void log.append("t", "any", [event]);
  await log.close();

  const again = await reopen(log);
  try {
    const events = await Array.fromAsync(again.read("s"));
    assert.deepEqual(events, [
      { ...event, position: 1 },
      { ...event, position: 2, id: "two" },
    ]);
    if (again.cursors !== undefined) assert.equal(await again.cursors.load("reader"), 2);
    const list = await Array.fromAsync(again.list());
    assert.deepEqual(
      list.map(({ session, revision }) => [session, revision]),
      [
        ["f", 2],
        ["s", 2],
        ["t", 1],
      ],
    );
    assert.deepEqual(list[0]?.forkedFrom, { session: "s", position: 1 });
    assert.deepEqual(await Array.fromAsync(again.read("f")), [
      { ...event, position: 1 },
      { ...forked("s", 1), position: 2 },
    ]);
    assert.equal((await again.append("f", 2, [event])).repeated, true);
    const all = await Array.fromAsync(again.readAll());
    assert.deepEqual(
      all.map(({ session, position }) => [session, position]),
      [
        ["s", 1],
        ["s", 2],
        ["f", 3],
        ["t", 5],
      ],
    );
    assert.deepEqual(await again.append("s", "any", [event, { ...event, id: "two" }]), {
      ...first,
      repeated: true,
    });
    assert.equal((await again.loadSnapshot("s", "p"))?.position, 2);
    assert.deepEqual(await Array.fromAsync(again.deleted()), [{ session: "gone", revision: 1 }]);
    await fails("SESSION_DELETED", () => again.append("gone", "any", [event]));
    const next = await again.append("s", 2, [
      { type: "message.withdrawn", time: 8, data: { ids: [] } },
    ]);
    assert.deepEqual(next, { revision: 3, position: 6, repeated: false });
  } finally {
    await again.close();
  }
}
