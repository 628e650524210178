/**
 * The log on PostgreSQL fulfils the contract of every log: in `npm test` on PGlite, in `npm run test:postgres`
 * on a server that this file starts, where two processes' logs also write the same sessions.
 */

import { afterAll, describe, expect, it } from "vitest";
import type { EventLog, GlobalEvent, NewEvent, SessionEvent } from "../../src/events/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { alone, eventLogContract, forked, ownershipContract } from "../../src/testing/index.ts";
import { eventually } from "../support/eventually.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { emptyTables, runSql } from "../support/run-sql.ts";

const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const programs = installedPostgres();
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
afterAll(() => server[Symbol.asyncDispose]());

let count = 0;
const schemas = new WeakMap<EventLog, string>();

/** A new log. On PGlite, which tests use one after the other, in the tables of the one before. */
async function openNew(): Promise<EventLog> {
  if (server.process !== undefined) return await open();
  await emptyTables(server.connectionString, "s");
  return await open("s");
}

async function open(schema = `s${count++}`): Promise<EventLog> {
  const { connectionString, connections } = server;
  const log = await openPostgresLog({
    connectionString,
    connections,
    schema,
    pollingMs: 20,
    leaseMs: 3000,
  });
  schemas.set(log, schema);
  return log;
}

eventLogContract("on PostgreSQL", {
  describe,
  it,
  open: openNew,
  reopen: (log) => open(schemas.get(log)),
});

async function silence(log: EventLog): Promise<void> {
  await runSql(server.connectionString, `DELETE FROM ${schemas.get(log)}.nodes`);
}

it("an altered event keeps its session from being deleted: it is no good one of the fork that shares it", async () => {
  await using log = await openNew();
  await log.append("s", "none", [alone(1), alone(2)]);
  await log.fork("f", [forked("s", 2)]);
  await runSql(
    server.connectionString,
    `UPDATE ${schemas.get(log)}.events SET line = replace(line, 'text 1', 'text 7') WHERE position = 1`,
  );
  const refused = log.delete("s", { forks: "copy" });
  await expect(refused).rejects.toMatchObject({ code: "LOG_DAMAGED", session: "s", position: 1 });
  expect(await log.revision("s")).toBe(2);
});

it("a session that was left unfinished is due until it is deleted", async () => {
  await using log = await openNew();
  for (const session of ["gone", "left"]) {
    await log.append(session, "none", [alone(1)]);
    const claim = await log.ownership?.claim(session);
    await claim?.release({ unfinished: true });
  }
  await log.delete("gone");
  const due = new Set<string>();
  using _ = log.inbox?.onDue((session) => void due.add(session));
  await eventually(() => {
    expect(due).toContain("left");
  });
  expect([...due]).toEqual(["left"]);
});

const several = wanted && programs !== undefined;
const needs = several ? "" : " (needs `npm run test:postgres` and an installed server)";

const nodes = {
  describe,
  it,
  open: openNew,
  inbox: true,
  // PGlite has one connection.
  ...(several && { beside: (log: EventLog) => open(schemas.get(log)), silence }),
};
ownershipContract("on PostgreSQL", nodes);

describe.skipIf(!several)(`two processes' logs on one database${needs}`, () => {
  it("number each session without a gap, and show every follower every event once, in one order", async () => {
    const first = await openNew();
    const second = await open(schemas.get(first));
    const logs = [first, second];
    const [sessions, each] = [["a", "b", "c"], 60];
    const total = logs.length * sessions.length * each;
    const global = logs.map((log) => taken<GlobalEvent>(log.subscribeAll(), total));
    const single = logs.map((log) => taken<SessionEvent>(log.subscribe("a"), logs.length * each));
    const answers = new Map<number, string>();
    const writers = logs.flatMap((log, who) =>
      sessions.map(async (session) => {
        for (let index = 0; index < each; index++) {
          const event = numbered(who * 1000 + index);
          const { position, revision } = await log.append(session, "any", [event]);
          answers.set(position, `${session}:${revision}`);
        }
      }),
    );
    await Promise.all(writers);
    const order = await Array.fromAsync(first.readAll());
    expect(order).toHaveLength(total);
    for (const { position, session, event } of order)
      expect(answers.get(position)).toBe(`${session}:${event.position}`);
    for (const seen of await Promise.all(global)) expect(seen).toEqual(order);
    for (const seen of await Promise.all(single))
      expect(seen.map(({ position }) => position)).toEqual(seen.map((_, index) => index + 1));
    // Each writer's events keep its order.
    for (const session of sessions) {
      const times = (await Array.fromAsync(second.read(session))).map(({ time }) => time - 1000);
      for (const who of [0, 1])
        expect(times.filter((time) => Math.floor(time / 1000) === who)).toEqual(
          Array.from({ length: each }, (_, index) => who * 1000 + index),
        );
    }
    await Promise.all(logs.map((log) => log.close()));
  });

  it("let one of two writers win that expect the same position, and write events with an id once", async () => {
    const first = await openNew();
    const second = await open(schemas.get(first));
    const attempts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? first : second).append("s", "none", [numbered(index)]),
      ),
    );
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refused = attempts.filter((attempt) => attempt.status === "rejected");
    for (const { reason } of refused) expect(reason).toMatchObject({ code: "REVISION_CONFLICT" });
    const same = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? first : second).append("t", "any", [numbered(1, "same")]),
      ),
    );
    expect(same.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(new Set(same.map(({ revision }) => revision))).toEqual(new Set([1]));
    await first.close();
    await second.close();
  });

  it("refuse what one was about to write behind an event that it does not know", async () => {
    const first = await openNew();
    const second = await open(schemas.get(first));
    await first.append("s", "none", [numbered(1)]);
    await second.append("s", 1, [numbered(2)]);
    const behind = [first.append("s", 1, [numbered(3)]), first.append("s", 2, [numbered(4)])];
    const [refused] = await Promise.allSettled(behind);
    expect(refused).toMatchObject({ status: "rejected", reason: { code: "REVISION_CONFLICT" } });
    const [, then] = await Promise.allSettled(behind);
    expect(then?.status).toBe("fulfilled");
    const times = (await Array.fromAsync(second.read("s"))).map(({ time }) => time - 1000);
    expect(times).toEqual([1, 2, 4]);
    await first.close();
    await second.close();
  });
});

it("forks, deletes and gives a session to a process while others append without a pause", async () => {
  await using log = await openNew();
  await log.append("parent", "none", [numbered(1)]);
  const over = new AbortController();
  const writers = ["a", "b", "c", "d"].map(async (session) => {
    while (!over.signal.aborted) await log.append(session, "any", [numbered(1)]);
  });
  const from = { session: "parent", position: 1 };
  await log.fork("fork", [{ type: "session.forked", time: 1, data: { from } }]);
  await log.delete("fork");
  const claim = await log.ownership?.claim("parent");
  over.abort();
  await Promise.all(writers);
  expect(claim).toBeDefined();
});

/** A small event with a number in its time. */
function numbered(number: number, id?: string): NewEvent<"part.text-delta"> {
  const data = { id: "0", text: `text ${number}` };
  const event = { type: "part.text-delta", time: 1000 + number, data } as const;
  return id === undefined ? event : { ...event, id };
}

async function taken<Item>(items: AsyncIterable<Item>, count: number): Promise<Item[]> {
  const seen: Item[] = [];
  for await (const item of items) {
    seen.push(item);
    if (seen.length === count) break;
  }
  return seen;
}
