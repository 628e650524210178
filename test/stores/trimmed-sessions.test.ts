/** Sessions whose old steps earlier releases trimmed: they are read, verified, replayed and copied. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { forkSession } from "../../src/archive/index.ts";
import {
  createRuntime,
  exportFixture,
  exportSession,
  importSession,
  openLog,
  openMemoryLog,
  readSessionFile,
  verifySession,
  type StoreLog,
} from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { run } from "../cli/command-line.ts";
import { tryRewinds } from "../support/rewind-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { sampled } from "../support/runs.ts";
import { kept, unpackStores } from "./release-stores.ts";
import { storeAgent } from "./store-sessions.ts";

const agent = storeAgent(() => "Yes.");
const THOUGHTS = "without-reasoning";

describe.each(sampled(kept, 1))("what release %s trimmed", (release) => {
  let dir = "";
  let log: StoreLog;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "turnlog-trimmed-"));
    await unpackStores(release, dir);
    log = await openLog({ dir: join(dir, "plain"), durability: "os" });
  });
  afterAll(async () => {
    await log.close();
    rmSync(dir, { recursive: true });
  });

  describe.each([
    ["without-boundaries", undefined],
    [THOUGHTS, 2],
  ])("%s", (session, lostPrompts) => {
    let events: readonly SessionEvent[] = [];
    beforeAll(async () => {
      events = await storedEvents(log, session);
    });

    it("says so, and is sound at every position", async () => {
      expect(events.filter(({ type }) => type === "session.thinned")).toHaveLength(1);
      const verified = await verifySession(log, session, { every: 1 });
      expect(verified.problems).toEqual([]);
      expect(verified.lostPrompts).toBe(lostPrompts);
    });

    it("happens again, and so does a fork that does not say so", async () => {
      const thinned = events.findIndex(({ type }) => type === "session.thinned");
      const fork = `fork-${session}`;
      await forkSession(log, session, { as: fork, position: thinned, now: 1 });
      const shared = await storedEvents(log, fork);
      expect(shared.some(({ type }) => type === "session.thinned")).toBe(false);
      expect((await verifySession(log, fork)).problems).toEqual([]);
      for (const recorded of [events, shared])
        expect(await replay(recorded, agent)).toEqual({
          events: recorded.length,
          parts: expect.anything() as unknown,
        });
    });

    it("is rewound and returned to", () => {
      const { tried, problems } = tryRewinds(events, { most: 8, thinned: true });
      expect(problems).toEqual([]);
      expect(tried).toBeGreaterThan(2);
    });

    it("is exported, imported and made a fixture of", async () => {
      await using other = await openMemoryLog();
      await importSession(other, await Array.fromAsync(exportSession(log, session)));
      expect(await storedEvents(other, session)).toEqual(events);
      const fixture = await readSessionFile(await exportFixture(log, session));
      expect(await replay(fixture.events, agent)).toEqual({
        events: fixture.events.length,
        parts: expect.anything() as unknown,
      });
    });
  });

  it("is not sent, nor is what names it, and estimates do not build on bills that had it", async () => {
    await using other = await openMemoryLog();
    await importSession(other, await Array.fromAsync(exportSession(log, THOUGHTS)));
    await using runtime = await createRuntime({ log: other, agent });
    const session = await runtime.session(THOUGHTS);
    expect(await session.context()).toMatchObject({ basis: "estimated" });
    const { messages: prompt } = (await session.view()).prompt;
    expect(JSON.stringify(prompt)).toContain("I say 59.");
    // Only the last turn's was kept.
    expect(JSON.stringify(prompt).match(/I think 0\./g)).toHaveLength(1);
    await (
      await session.send("Go on.")
    ).result;
    expect((await verifySession(other, THOUGHTS)).problems).toEqual([]);
  });

  it("is found missing where no event says that it went", async () => {
    await using other = await openMemoryLog();
    const events = await storedEvents(log, THOUGHTS);
    await other.append("s", "none", events.slice(0, -1), { origin: "copied" });
    const { problems } = await verifySession(other, "s");
    expect(problems.map(({ rule }) => rule)).toEqual(["thinned"]);
  });

  it("is marked where the command line shows it", async () => {
    await log.close();
    const { stdout } = await run(["--dir", "plain", "show", THOUGHTS], { cwd: dir });
    expect(stdout).toContain("[reasoning dropped]");
    log = await openLog({ dir: join(dir, "plain"), durability: "os" });
  });
});
