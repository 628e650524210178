/** Law 15: nothing grows with what has ended, whatever store and however it ended. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openLog, openMemoryLog, type EventLog } from "../../../src/public/index.ts";
import { held, heldSince, unwatch } from "../../support/held.ts";
import { eventually } from "../../support/eventually.ts";
import { sampled, times } from "../../support/runs.ts";
import { world } from "../../soak/lives.ts";

afterAll(unwatch);

const stores: readonly (readonly [string, (dir: string) => Promise<EventLog>])[] = [
  ["in memory", () => openMemoryLog()],
  ["on disk", (dir) => openLog({ dir: join(dir, "store"), durability: "os" })],
];

describe.each(sampled(stores, 1, 1))("of sessions that came and went (%s)", (_, open) => {
  it("keeps neither actor nor listener, timer, descriptor or entry", async () => {
    const dir = await mkdtemp(join(tmpdir(), "turnlog-kept-"));
    onTestFinished(() => rm(dir, { recursive: true }));
    await using log = await open(dir);
    await using all = await world(log);
    const { runtime, server } = all;
    // What is loaded, opened or cached once is there before.
    for (const name of ["a", "b"]) await all.life(`first-${name}`);
    await all.allPassive();
    const before = await held({ runtime, server, log });
    for (let session = 0; session < times(4); session++) await all.life(`later-${session}`);
    await all.allPassive();
    await eventually(async () => expect(await heldSince(before)).toEqual({}), 100);
  });
});
