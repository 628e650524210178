/** How followers hear of what other processes write, on an engine that is shared with one. */

import { describe, expect, it } from "vitest";
import type { EventLog, NewEvent } from "../../../src/events/index.ts";
import { checkedLog, type Engine } from "../../../src/store/engine/index.ts";
import { openMemoryLog } from "../../../src/store/leveldb/index.ts";

function numbered(time: number): NewEvent {
  return { type: "part.text-delta", time, data: { id: "1", text: "word" } };
}

interface Shared {
  /** The log of this process. */
  readonly log: EventLog;
  /** The log of the other process. */
  readonly other: EventLog;
  /** Says that the other process may have written. Undefined while nobody follows. */
  changed: ((sessions?: readonly string[]) => Promise<void>) | undefined;
  /** Called with each look at a head. */
  onLook: () => Promise<void>;
}

async function shared(): Promise<Shared & AsyncDisposable> {
  const other = await openMemoryLog();
  const engine: Engine = {
    append: (session, expected, events, options) =>
      other.append(session, expected, events, options),
    fork: (session, _, events) => other.fork(session, events),
    delete: (session, options) => other.delete(session, options),
    async head(session) {
      await made.onLook();
      const deleted = await Array.fromAsync(other.deleted());
      const isDeleted = deleted.some((one) => one.session === session);
      return { revision: await other.revision(session), isDeleted };
    },
    read: (session, range) => other.read(session, range),
    readAll: (from) => other.readAll({ from }),
    async end() {
      return (await Array.fromAsync(other.readAll())).at(-1)?.position ?? 0;
    },
    list: (prefix) => other.list({ prefix }),
    deleted: () => other.deleted(),
    close: () => other.close(),
    others: {
      watch(changed) {
        made.changed = changed;
        return {
          [Symbol.dispose]() {
            made.changed = undefined;
          },
        };
      },
    },
  };
  const log = checkedLog(engine);
  const made: Shared & AsyncDisposable = {
    log,
    other,
    changed: undefined,
    onLook: async () => {},
    [Symbol.asyncDispose]: () => log.close(),
  };
  return made;
}

describe("on an engine that other processes write to", () => {
  it("gives followers what another process wrote, once the engine says so", async () => {
    await using made = await shared();
    const { log, other } = made;
    await other.append("s", "none", [numbered(1)]);
    const events = log.subscribe("s")[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ position: 1 });
    const next = events.next();
    await other.append("s", 1, [numbered(2)]);
    await made.changed?.(["t"]);
    await made.changed?.(["s"]);
    expect((await next).value).toMatchObject({ position: 2 });
    await events.return?.();
  });

  it("gives followers of all sessions what another process wrote", async () => {
    await using made = await shared();
    const { log, other } = made;
    const events = log.subscribeAll()[Symbol.asyncIterator]();
    const next = events.next();
    await expect.poll(() => made.changed).toBeDefined();
    await other.append("s", "none", [numbered(1)]);
    await made.changed?.();
    expect((await next).value).toMatchObject({ session: "s", position: 1 });
    await events.return?.();
  });

  it("watches the store only while somebody follows", async () => {
    await using made = await shared();
    const { log } = made;
    await log.append("s", "none", [numbered(1)]);
    expect(made.changed).toBeUndefined();
    const [one, all] = [log.subscribe("s"), log.subscribeAll()].map((events) =>
      events[Symbol.asyncIterator](),
    );
    await Promise.all([one?.next(), all?.next()]);
    expect(made.changed).toBeDefined();
    await one?.return?.();
    expect(made.changed).toBeDefined();
    await all?.return?.();
    expect(made.changed).toBeUndefined();
  });

  it("looks again for what was written during a look", async () => {
    await using made = await shared();
    const { log, other } = made;
    await other.append("s", "none", [numbered(1)]);
    const events = log.subscribe("s")[Symbol.asyncIterator]();
    await events.next();
    const next = events.next();
    let looks = 0;
    made.onLook = async () => {
      if (++looks === 1) {
        // Read before the append, and told of it before the look ends.
        void Promise.resolve().then(async () => {
          await other.append("s", 1, [numbered(2)]);
        });
        void made.changed?.();
      }
    };
    await made.changed?.();
    expect((await next).value).toMatchObject({ position: 2 });
    expect(looks).toBeGreaterThan(1);
    await events.return?.();
  });

  it("looks again with the next change after a look that failed", async () => {
    await using made = await shared();
    const { log, other } = made;
    await other.append("s", "none", [numbered(1)]);
    const events = log.subscribe("s")[Symbol.asyncIterator]();
    await events.next();
    const next = events.next();
    await other.append("s", 1, [numbered(2)]);
    made.onLook = () => Promise.reject(new Error("The database is away."));
    await made.changed?.();
    made.onLook = async () => {};
    await made.changed?.();
    expect((await next).value).toMatchObject({ position: 2 });
    await events.return?.();
  });

  it("ends the followers of a session that another process deleted", async () => {
    await using made = await shared();
    const { log, other } = made;
    await other.append("s", "none", [numbered(1)]);
    const events = log.subscribe("s")[Symbol.asyncIterator]();
    await events.next();
    const next = events.next();
    await other.delete("s");
    await made.changed?.();
    await expect(next).rejects.toMatchObject({ code: "SESSION_DELETED" });
  });

  it("tells no listener of changes, since it does not know those of others", async () => {
    await using made = await shared();
    expect(made.log.onChange === undefined).toBe(true);
  });
});

describe("on an engine that fails", () => {
  /** An engine of one session, whose changes are made and then fail, and whose events may be unreadable for now. */
  async function failing() {
    const log = await openMemoryLog();
    const state = { isHidden: false };
    const failed = (_: unknown): never => {
      throw new Error("The answer is lost.");
    };
    const engine: Engine = {
      append: async (...change) => failed(await log.append(...change)),
      fork: (session, _, events) => log.fork(session, events),
      delete: async (...change) => failed(await log.delete(...change)),
      async head(session) {
        const [isDeleted] = await Array.fromAsync(log.deleted());
        return { revision: await log.revision(session), isDeleted: isDeleted !== undefined };
      },
      async *read(session, range) {
        if (!state.isHidden) yield* log.read(session, range);
      },
      readAll: (from) => log.readAll({ from }),
      end: async () => (await Array.fromAsync(log.readAll())).length,
      list: (prefix) => log.list({ prefix }),
      deleted: () => log.deleted(),
      close: () => log.close(),
    };
    return { log: checkedLog(engine), state };
  }

  it("gives followers what was written by a change that failed", async () => {
    const { log } = await failing();
    await using _ = log;
    const events = log.subscribe("s")[Symbol.asyncIterator]();
    const first = events.next();
    await expect(log.append("s", "none", [numbered(1)])).rejects.toThrow(/lost/);
    expect((await first).value).toMatchObject({ position: 1 });
    const next = events.next();
    await expect(log.delete("s")).rejects.toThrow(/lost/);
    await expect(next).rejects.toMatchObject({ code: "SESSION_DELETED" });
  });

  it("lets others run while the events of a followed session cannot be read", async () => {
    const { log, state } = await failing();
    await using _ = log;
    await expect(log.append("s", "none", [numbered(1)])).rejects.toThrow(/lost/);
    state.isHidden = true;
    const events = log.subscribe("s")[Symbol.asyncIterator]();
    const next = events.next();
    await new Promise((resolve) => setImmediate(resolve));
    await expect(log.delete("s")).rejects.toThrow(/lost/);
    await expect(next).rejects.toMatchObject({ code: "SESSION_DELETED" });
  });
});
