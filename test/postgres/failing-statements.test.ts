/** Whatever statement fails in whatever method: its caller gets an error of turnlog, and never one of the driver. */

import { afterAll, describe, expect, it } from "vitest";
import { TurnlogError, type BlobStore, type EventLog } from "../../src/events/index.ts";
import type { CursorStore, Inbox, Ownership } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import { missingSchemaSql, openPostgresLog } from "../../src/store/postgres/index.ts";
import { forked, numbered } from "../../src/testing/index.ts";
import { starting, statementFaults } from "../support/failing-statements.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { stepOf } from "../support/runs.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const several = wanted && programs !== undefined;
const server = several ? await startPostgres(programs) : await startPglite();
const needs = several ? "" : " (needs `npm run test:postgres` and an installed server)";
afterAll(() => server[Symbol.asyncDispose]());
const faults = statementFaults();
afterAll(() => {
  faults[Symbol.dispose]();
});

const open = (schema: string): Promise<EventLog> => {
  const { connectionString, connections } = server;
  return openPostgresLog({ connectionString, connections, schema, pollingMs: 20 });
};

interface Ports {
  readonly log: EventLog;
  readonly ownership: Ownership;
  readonly inbox: Inbox;
  readonly cursors: CursorStore;
  readonly blobs: BlobStore;
}

function portsOf(log: EventLog): Ports {
  const { ownership, inbox, cursors, blobs } = log;
  if (ownership === undefined || inbox === undefined) throw new Error("one process owns this log");
  if (cursors === undefined || blobs === undefined) throw new Error("a port is missing");
  return { log, ownership, inbox, cursors, blobs };
}

type Call = (ports: Ports, fresh: string) => unknown;
/** Reads all that there is, and holds nothing. */
const drained = (values: AsyncIterable<unknown>): Promise<unknown> => Array.fromAsync(values);
/** The first of what a follower sees. */
async function first(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of values) return;
}

async function* parts(): AsyncGenerator<readonly ReturnType<typeof numbered>[]> {
  yield [numbered(1, "p1")];
  yield [numbered(2, "p2")];
}

/** `own` has three events, `fork` shares two of them. `fresh` is a new id. */
const calls: Readonly<Record<keyof Ports, Readonly<Record<string, Call>>>> = {
  log: {
    append: async ({ log }, fresh) => {
      await log.append(fresh, "none", [numbered(1)]);
      await log.append("fork", "any", [numbered(9, fresh)]);
    },
    appendParts: ({ log }, fresh) => log.appendParts?.(fresh, parts()),
    fork: ({ log }, fresh) => log.fork(fresh, [forked("fork", 3), numbered(1, fresh)]),
    read: async ({ log }) => {
      await drained(log.read("fork"));
      await drained(log.read("fork", { backwards: true }));
    },
    readAt: ({ log }) => log.readAt("fork", [1, 3]),
    subscribe: ({ log }) => first(log.subscribe("fork")),
    readAll: ({ log }) => drained(log.readAll()),
    subscribeAll: ({ log }) => first(log.subscribeAll()),
    revision: ({ log }) => log.revision("fork"),
    list: ({ log }) => drained(log.list()),
    saveSnapshot: ({ log }) =>
      log.saveSnapshot("fork", { projection: "p", version: 1, position: 1, state: {} }),
    loadSnapshot: ({ log }) => log.loadSnapshot("fork", "p"),
    loadSnapshots: ({ log }) => log.loadSnapshots?.(["own", "fork"], "p"),
    delete: async ({ log }, fresh) => {
      await log.append(fresh, "none", [numbered(1, "a"), numbered(2)]);
      await log.fork(`${fresh}f`, [forked(fresh, 2), numbered(1)]);
      await log.delete(fresh, { forks: "copy" });
    },
    deleted: ({ log }) => drained(log.deleted()),
    close: async ({ log, ownership, blobs }) => {
      await ownership.claim("own");
      using _ = blobs.hold();
      await log.close();
    },
  },
  ownership: {
    claim: async ({ ownership }) => {
      const claim = await ownership.claim("own");
      await claim?.release({ unfinished: true });
    },
    taken: ({ ownership }) => ownership.taken?.(),
  },
  inbox: {
    post: ({ inbox }, fresh) => inbox.post("own", { id: fresh, name: "send", args: [] }),
    answerOf: async ({ inbox }, fresh) => {
      await inbox.post("own", { id: fresh, name: "send", args: [] });
      await inbox.answer("own", fresh, {});
      await inbox.answerOf("own", fresh);
    },
    unanswered: ({ inbox }) => inbox.unanswered("own"),
    answer: ({ inbox }) => inbox.answer("own", "unknown", {}),
    onDue: async ({ inbox }, fresh) => {
      const due = Promise.withResolvers<undefined>();
      using _ = inbox.onDue(() => due.resolve(undefined));
      await inbox.post(fresh, { id: fresh, name: "send", args: [] });
      await due.promise;
    },
  },
  cursors: {
    load: ({ cursors }) => cursors.load("c"),
    save: ({ cursors }) => cursors.save("c", 1),
  },
  blobs: {
    put: async ({ blobs }, fresh) => {
      using _ = await blobs.put(Buffer.from(fresh));
    },
    get: ({ blobs }) => drained(blobs.get(blob)),
    has: ({ blobs }) => blobs.has(blob),
    list: ({ blobs }) => drained(blobs.list()),
    collect: ({ blobs }) => blobs.collect(async () => new Set([blob])),
    hold: async ({ blobs }) => {
      using _ = blobs.hold();
      // Waits for the hold.
      await blobs.has(blob);
    },
  },
};

let blob = "";
const each = Object.entries(calls).flatMap(([port, methods]) =>
  Object.entries(methods).map(([method, call]) => ({ name: `${port}.${method}`, call })),
);

async function filled(schema: string): Promise<void> {
  await using log = await open(schema);
  await log.append("own", "none", [numbered(1, "1"), numbered(2), numbered(3)]);
  await log.fork("fork", [forked("own", 2), numbered(1)]);
  const { blobs } = portsOf(log);
  using held = await blobs.put(Buffer.from("A blob."));
  blob = held.sha256;
}

/** Undefined: it did what was asked. */
async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

function expectOurs(error: unknown): void {
  expect(error ?? new TurnlogError("LOG_FAILED", "")).toBeInstanceOf(TurnlogError);
}

describe("a database of which any statement may fail", () => {
  it("has a call here of every method of every port", async () => {
    await using log = await open("methods");
    const known = ["constructor", "assertOpen", "hint", "end", "node"];
    for (const [port, object] of Object.entries(portsOf(log))) {
      const prototype: unknown = Object.getPrototypeOf(object);
      const methods = Object.getOwnPropertyNames(
        prototype === Object.prototype ? object : prototype,
      ).filter((name) => !known.includes(name));
      expect(each.map(({ name }) => name)).toEqual(
        expect.arrayContaining(methods.map((name) => `${port}.${name}`)),
      );
    }
  });

  it.each(each)("fails in $name with an error of turnlog only", async ({ name, call }) => {
    const schema = `f_${name.toLowerCase().replace(".", "_")}`;
    await filled(schema);
    // One statement, and three in a row: what is tried after the first may fail too.
    for (const count of [1, 3]) {
      const failures: unknown[] = [];
      for (let after = 0, failed = 1; failed > 0; after++) {
        const log = await open(schema);
        faults.arm(after, count);
        failures.push(await failureOf(() => call(portsOf(log), `n${count}-${after}`)));
        failed = faults.disarm();
        await log.close();
      }
      failures.forEach(expectOurs);
      // No statement of the last call failed.
      expect(failures.at(-1)).toBeUndefined();
    }
  });

  it("opens, and prints what a schema lacks, or fails with an error of turnlog", async () => {
    const { connectionString } = server;
    for (let after = 0, failed = 1; failed > 0; after += stepOf(4)) {
      faults.arm(after, 1);
      const failure = await failureOf(async () => {
        const log = await open(`opened${after}`);
        await log.close();
        await missingSchemaSql(connectionString);
      });
      failed = faults.disarm();
      expectOurs(failure);
    }
    for (const wrong of ["postgres://127.0.0.1:1/none", "postgres://[", "no address"])
      expectOurs(await failureOf(() => openPostgresLog({ connectionString: wrong })));
  });

  // PGlite takes few connections.
  it.skipIf(!several)(
    `gives every caller an error of turnlog when the server starts for longer than statements are repeated${needs}`,
    async () => {
      await filled("outage");
      const waiting = ["log.subscribe", "log.subscribeAll", "inbox.answerOf", "inbox.onDue"];
      const asked = each.filter(({ name }) => !waiting.includes(name));
      const logs = await Promise.all(asked.map(() => open("outage")));
      faults.arm(0, Infinity, starting);
      const failures = await Promise.all(
        asked.map(({ call, name }, index) => {
          const log = logs[index];
          if (log === undefined) throw new Error("no log");
          return failureOf(() => call(portsOf(log), name));
        }),
      );
      faults.disarm();
      failures.forEach(expectOurs);
      expect(failures.filter((failure) => failure !== undefined).length).toBeGreaterThan(15);
      await Promise.all(logs.map((log) => log.close()));
    },
  );
});

describe.skipIf(!several)(`a runtime on such a database${needs}`, () => {
  it("shows errors of turnlog only: of calls, of turns and their streams, in warnings and reports of consumers", async () => {
    const schema = "runtime";
    await (await open(schema)).close();
    const seen: unknown[] = [];
    const tried = async <Value>(work: () => Promise<Value>): Promise<Value | undefined> => {
      try {
        return await work();
      } catch (error) {
        seen.push(error);
        return undefined;
      }
    };
    const step = stepOf(7);
    for (let after = 0, failed = 1; failed > 0; after += step) {
      const log = await open(schema);
      faults.arm(after, 4);
      const runtime = await tried(() =>
        createRuntime({
          log,
          agent: { model: scriptedModel(() => "Done.") },
          onWarning: (warning) => void seen.push(warning),
        }),
      );
      if (runtime !== undefined) {
        await lived(runtime, `s${after}`, tried);
        await tried(() => runtime.close());
      }
      failed = faults.disarm();
      await log.close();
    }
    expect(seen.length).toBeGreaterThan(10);
    for (const error of seen) expect(error).toBeInstanceOf(TurnlogError);
  });
});

async function lived(
  runtime: Runtime,
  id: string,
  tried: <Value>(work: () => Promise<Value>) => Promise<Value | undefined>,
): Promise<void> {
  const consumer = await tried(() => runtime.consume(id, () => {}));
  const session = await tried(() => runtime.session(id));
  if (session !== undefined) {
    const turn = await tried(() => session.send("Hello.", { id: "m" }));
    if (turn !== undefined) {
      const streamed = tried(() => drained(turn));
      await tried(() => turn.result);
      await streamed;
    }
    await tried(() => session.at(1));
    const fork = await tried(() => session.fork({ id: `${id}f` }));
    if (fork !== undefined) {
      const turn = await tried(() => fork.send("In the fork."));
      await tried(async () => await turn?.result);
      await tried(() => fork.view());
      await tried(() => fork.rewind({ beforeTurn: 2 }));
    }
    await tried(() => session.setMetadata({ topic: "t" }));
    await tried(() =>
      session.send("Later.", { id: "l", notBefore: new Date(Date.now() + 3600e3) }),
    );
    await tried(() => session.withdraw("l"));
  }
  await tried(() => drained(runtime.sessions()));
  await tried(() => runtime.delete(id, { forks: "copy" }));
  await tried(async () => await consumer?.[Symbol.asyncDispose]());
}
