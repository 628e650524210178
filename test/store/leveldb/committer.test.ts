/** How the log writes: one batch at a time, whatever arrives meanwhile together, all sessions at once. */
import { expect, it } from "vitest";
import { numbered, positionsOf } from "../../../src/testing/index.ts";
import { openFaultyLog, openOver } from "./faulty-database.ts";

/** Lets everything run that does not wait for the delay itself. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

it("has one batch under way at most, and puts what arrives meanwhile into the next one", async () => {
  const { log, database } = await openFaultyLog(turn);
  const sessions = Array.from({ length: 50 }, (_, index) => `s-${index}`);
  await Promise.all(sessions.map((session) => log.append(session, "none", [numbered(0)])));
  const before = database.counts.write;
  const appends = Array.from({ length: 40 }, (_, index) =>
    sessions.map((session) => log.append(session, index + 1, [numbered(index + 1)])),
  );
  await Promise.all(appends.flat());
  expect(database.mostWriting).toBe(1);
  // All were queued before the first batch was begun.
  expect(database.counts.write - before).toBe(1);
  await log.close();
});

it("begins to write before the caller lets go of the event loop", async () => {
  const { log, database } = await openFaultyLog();
  await log.append("s", "none", [numbered(1)]);
  const before = database.counts.write;
  void log.append("s", 1, [numbered(2)]);
  await Promise.resolve();
  await Promise.resolve();
  expect(database.counts.write).toBe(before + 1);
  await log.close();
});

it("divides what is large into batches of about a megabyte, without dividing an append", async () => {
  const { log, database } = await openFaultyLog();
  await log.append("s", "none", [numbered(0)]);
  const before = database.counts.write;
  const event = {
    type: "part.text-delta",
    time: 1,
    data: { id: "0", text: "x".repeat(100_000) },
  } as const;
  await Promise.all(Array.from({ length: 50 }, () => log.append("s", "any", [event])));
  const batches = database.counts.write - before;
  expect(batches).toBeGreaterThanOrEqual(4);
  expect(batches).toBeLessThanOrEqual(6);
  const one = database.counts.write;
  await log.append(
    "s",
    "any",
    Array.from({ length: 30 }, () => event),
  );
  expect(database.counts.write).toBe(one + 1);
  await log.close();
});

it("numbers sessions rightly that it had to forget, since there are more than it remembers", async () => {
  const { log, database, rows } = await openFaultyLog();
  const sessions = Array.from({ length: 9000 }, (_, index) => `s-${index}`);
  for (const session of sessions) await log.append(session, "none", [numbered(1)]);
  const asked = database.counts.scan;
  await log.append("s-8999", 1, [numbered(2)]);
  expect(database.counts.scan).toBe(asked);
  await log.append("s-0", 1, [numbered(2)]);
  expect(database.counts.scan).toBeGreaterThan(asked);

  await log.close();
  const { log: again } = await openOver(rows);
  expect(await positionsOf(again.read("s-0"))).toEqual([1, 2]);
  expect(await positionsOf(again.read("s-1"))).toEqual([1]);
});

it("forgets no session that has events which are not written yet", async () => {
  const gate = Promise.withResolvers<void>();
  const { log, database } = await openFaultyLog((operation) =>
    operation === "write" ? gate.promise : Promise.resolve(),
  );
  const names = (prefix: string): string[] =>
    Array.from({ length: 5000 }, (_, index) => `${prefix}-${index}`);
  const appends = names("a").map((session) => log.append(session, "none", [numbered(1)]));
  // All are in a batch that cannot be written; now come more sessions than are remembered.
  while (database.counts.scan < 10_000) await new Promise((resolve) => setImmediate(resolve));
  for (const session of names("b")) await log.revision(session);
  appends.push(...names("a").map((session) => log.append(session, 1, [numbered(2)])));
  gate.resolve();
  const revisions = (await Promise.all(appends)).map(({ revision }) => revision);
  expect(revisions).toEqual([...names("a").map(() => 1), ...names("a").map(() => 2)]);
  await log.close();
});
