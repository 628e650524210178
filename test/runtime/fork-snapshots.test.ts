/** Forks of long sessions: how much is read to open one. */

import { describe, expect, it } from "vitest";
import {
  openMemoryLog,
  verifySession,
  viewSession,
  type EventLog,
} from "../../src/public/index.ts";
import { viewOf } from "../../src/state/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { replayLog } from "../support/replay.ts";
import { saying } from "../support/script.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { openSession } from "../support/with-runtime.ts";

describe("a fork of a long session", () => {
  /** How many events are read of each session, on a log that counts. */
  async function counted(): Promise<{ readonly log: EventLog; readonly reads: () => number }> {
    const log = await openMemoryLog();
    let count = 0;
    const counting = wrapLog(log, {
      async *read(...read) {
        for await (const event of log.read(...read)) {
          count += 1;
          yield event;
        }
      },
    });
    return {
      log: counting,
      reads: () => {
        const read = count;
        count = 0;
        return read;
      },
    };
  }

  const long = saying(...Array.from({ length: 2500 }, (_, index) => `${index} `));

  it("starts from the other session's snapshot, and keeps on its own only what is new", async () => {
    const { log, reads } = await counted();
    const model = scriptedModel([long, "Two.", long, "Four."]);
    await using first = await openSession({ model }, { log });
    await ask(first.session, "Count.");
    await first.runtime.close();
    const { position } = await viewSession(log, "s");
    await using second = await openSession({ model }, { log });
    reads();
    const fork = await second.session.fork({ id: "f" });
    await fork.view();
    expect(reads()).toBeLessThan(50);
    await Array.fromAsync(second.runtime.sessions());
    expect(reads()).toBeLessThan(50);
    await ask(fork, "And?");
    await ask(fork, "Count on.");
    await second.runtime.close();
    const kept = await log.loadSnapshot("f", "session");
    expect(kept?.position).toBeGreaterThan(position + 2000);
    reads();
    const opened = await viewSession(log, "f");
    expect(reads()).toBeLessThan(50);
    expect(opened).toStrictEqual(viewOf("f", (await replayLog(log, "f")).last));
  });

  it("starts from the last snapshot before its position, however many came later, and in forks of it too", async () => {
    const { log, reads } = await counted();
    const model = scriptedModel((_, index) => (index < 4 ? long : "Short."));
    await using open = await openSession({ model }, { log });
    const ends: number[] = [];
    for (let turn = 1; turn <= 4; turn++) {
      await ask(open.session, "Count.");
      ends.push((await open.session.view()).position);
    }
    const [, second = 0] = ends;
    reads();
    const fork = await open.session.fork({ id: "f", position: second });
    const view = await fork.view();
    expect(reads()).toBeLessThan(2600);
    expect(view).toStrictEqual(viewOf("f", (await replayLog(log, "f")).last));
    reads();
    const inner = await fork.fork({ id: "g", position: second - 1 });
    await inner.view();
    expect(reads()).toBeLessThan(2600);
    await ask(inner, "And?");
    for (const id of ["s", "f", "g"])
      expect((await verifySession(log, id, { every: 500 })).problems).toEqual([]);
  });

  it("does not use a snapshot of what came after the position", async () => {
    const { log } = await counted();
    const model = scriptedModel(["One.", long]);
    await using open = await openSession({ model }, { log });
    await ask(open.session, "One?");
    const { position } = await open.session.view();
    await ask(open.session, "Count.");
    const fork = await open.session.fork({ id: "f", position: position });
    expect(await fork.view()).toStrictEqual(viewOf("f", (await replayLog(log, "f")).last));
    expect((await verifySession(log, "f", { every: 1 })).problems).toEqual([]);
  });
});
