/** The lease of a process ends here before any other process may take its sessions. Needs no database. */

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Statements } from "../../../src/store/postgres/database/statements.ts";
import { Lease } from "../../../src/store/postgres/nodes/claims.ts";

/** Milliseconds of the monotonic clock. No timer runs by it: the process sleeps meanwhile. */
let now = 0;

/** @param travelMs - How long each statement is under way. */
function leaseOf(travelMs: number): Lease {
  now = 50_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const query = async () => {
    now += travelMs;
    return [{ renewed: true }];
  };
  const lease = new Lease({ sql: new Statements({ query }, "s"), leaseMs: 60_000 });
  onTestFinished(() => {
    lease.end();
    vi.restoreAllMocks();
  });
  return lease;
}

describe("one owner at a time: a lease", () => {
  it("counts from before it was asked for, and not from the answer", async () => {
    const lease = leaseOf(10_000);
    const askedAt = now;
    await lease.begin();
    now = askedAt + 59_999;
    expect(lease.isHeld).toBe(true);
    now += 1;
    expect(lease.isHeld).toBe(false);
    expect(lease.ended.aborted).toBe(true);
  });

  it("counts so when it is renewed too", async () => {
    const lease = leaseOf(0);
    await lease.begin();
    now += 30_000;
    const renewedAt = now;
    await lease.prolong(90_000);
    now = renewedAt + 89_999;
    expect(lease.isHeld).toBe(true);
    now += 1;
    expect(lease.isHeld).toBe(false);
  });

  it("has ended if the answer came too late, and no later one brings it back", async () => {
    const lease = leaseOf(60_000);
    await lease.begin();
    expect(lease.ended.aborted).toBe(true);
    now = 0;
    expect(lease.isHeld).toBe(false);
  });

  it("asks the clock after a sleep, in which no timer ran", async () => {
    const lease = leaseOf(0);
    await lease.begin();
    expect(lease.isHeld).toBe(true);
    now += 3_600_000;
    expect(lease.isHeld).toBe(false);
  });
});
