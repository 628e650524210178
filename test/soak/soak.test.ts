/**
 * A crowd of sessions at once on one runtime, in memory and on disk: nothing of any of them is lost.
 * A rejection that nobody handles fails the test run.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openLog, openMemoryLog, type EventLog } from "../../src/public/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { patience, times } from "../support/runs.ts";
import { runCrowd } from "./crowd.ts";

const [sessions, steps] = [times(16, 60), 10];

const stores: readonly (readonly [string, (dir: string) => Promise<EventLog>])[] = [
  ["in memory", () => openMemoryLog()],
  ["on disk", (dir) => openLog({ dir: join(dir, "store"), durability: "os" })],
];

it.each(stores)(
  "a crowd of sessions keeps every law, and every message is delivered once (%s)",
  async (store, open) => {
    const dir = await mkdtemp(join(tmpdir(), "turnlog-soak-"));
    onTestFinished(() => rm(dir, { recursive: true }));
    await using log = await open(dir);
    const crowd = await runCrowd({ log, sessions, steps, seed: store });
    expect(crowd.accepted.size).toBe(sessions);
    expect(crowd.steps).toBeGreaterThanOrEqual(sessions * steps);
    expect(crowd.cancels).toBeGreaterThan(sessions / 10);
    expect(crowd.steers).toBeGreaterThan(sessions / 10);
    for (const [session, accepted] of crowd.accepted) {
      const events = await storedEvents(log, session);
      const delivered = events.flatMap((event) =>
        event.type === "message.delivered" ? event.data.ids : [],
      );
      expect(delivered.toSorted(), session).toEqual(accepted.toSorted());
      expect({ session, problems: lawProblems(events) }).toEqual({ session, problems: [] });
    }
  },
  patience,
);
