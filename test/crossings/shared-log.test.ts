/** The log that two processes share in the crossings keeps the promises of a database. */

import { describe, it } from "vitest";
import type { EventLog } from "../../src/public/index.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { ownershipContract } from "../../src/testing/index.ts";
import { sharedLog } from "./shared-log.ts";

const doors = new WeakMap<EventLog, () => EventLog>();

async function open(): Promise<EventLog> {
  return entered(sharedLog(await openMemoryLog()));
}

async function beside(log: EventLog): Promise<EventLog> {
  const door = doors.get(log);
  if (door === undefined) throw new Error("This log is not shared.");
  return entered(door);
}

function entered(door: () => EventLog): EventLog {
  const log = door();
  doors.set(log, door);
  return log;
}

ownershipContract("a shared log in memory", { describe, it, open, beside, inbox: true });
