/** What the studio is shown of a log: its newest turns at first, and deltas joined. */

import { expect, it } from "vitest";
import { TurnlogError, type NewEvent } from "../../src/events/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { mergedEvents } from "../../src/server/studio/shortened.ts";
import { newestTurns } from "../../src/server/studio/figures.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { readFixture } from "../laws/session-fixture.ts";

it("a short log is shown from its first event, with the turn that runs; nothing of one that cannot be read", async () => {
  const events = await readFixture("tools");
  const last = events.findLastIndex(({ type }) => type === "turn.ended");
  await using log = await openMemoryLog();
  await log.append("s", "none", events.slice(0, last));
  const stored = await Array.fromAsync(log.read("s"));
  expect(await newestTurns(log, "s")).toEqual({ from: 1, events: stored });
  const damaged = wrapLog(log, {
    read: () => {
      throw new TurnlogError("LOG_DAMAGED", "A row is altered.");
    },
  });
  expect(await newestTurns(damaged, "s")).toEqual({ from: last + 1, events: [] });
});

it("deltas are joined within a block only, and those with metadata of their own stay apart", async () => {
  const delta = (id: string, text: string, more: object = {}): NewEvent => ({
    type: "part.text-delta",
    time: 1,
    data: { id, text, ...more },
  });
  const own = { providerMetadata: { openai: { item: "1" } } };
  await using log = await openMemoryLog();
  const given = [delta("a", "1"), delta("a", "2"), delta("b", "3"), delta("b", "4", own)];
  await log.append("s", "none", [...given, delta("b", "5", own)]);
  const rows = await Array.fromAsync(mergedEvents(log.read("s")));
  expect(rows.map(({ event, last }) => [event.data, last?.lengths])).toEqual([
    [{ id: "a", text: "12" }, [1, 1]],
    [{ id: "b", text: "3" }, undefined],
    [{ id: "b", text: "4", ...own }, undefined],
    [{ id: "b", text: "5", ...own }, undefined],
  ]);
});
