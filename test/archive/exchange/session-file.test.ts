/** Export and import: what comes out goes in again exactly, and what is not whole does not go in at all. */

import { deepStrictEqual } from "node:assert/strict";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  appendParts,
  TurnlogError,
  type EventLog,
  type NewEvent,
} from "../../../src/events/index.ts";
import {
  EVENTS_PER_SNAPSHOT,
  loadSessionSnapshot,
  storedPositions,
} from "../../../src/state/index.ts";
import { forkSession } from "../../../src/archive/index.ts";
import {
  exportSession,
  importMessages,
  importSession,
  openMemoryLog,
  verifySession,
} from "../../../src/public/index.ts";
import { anyEvents } from "../../laws/any-event.ts";
import { fixtureNames, readFixture } from "../../laws/session-fixture.ts";
import { patience, runs, sampled } from "../../support/runs.ts";
import { wrapLog } from "../../../src/replay/index.ts";

vi.setConfig({ testTimeout: patience });

async function logOf(events: readonly NewEvent[], session = "s"): Promise<EventLog> {
  const log = await openMemoryLog();
  await log.append(session, "none", events, { origin: "copied" });
  return log;
}

async function linesOf(events: readonly NewEvent[]): Promise<string[]> {
  await using log = await logOf(events);
  // Events that were made up refer to blobs that there never were.
  return await Array.fromAsync(exportSession(log, "s", { blobs: "none" }));
}

/** The code with which an import is refused, and whether anything was written. */
async function refusal(lines: readonly string[], options = {}): Promise<TurnlogError> {
  await using log = await openMemoryLog();
  const error: unknown = await importSession(log, lines, options).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(await Array.fromAsync(log.list())).toEqual([]);
  if (!TurnlogError.isInstance(error)) throw new Error(`It was not refused: ${String(error)}`);
  return error;
}

it("a text in place of its lines is refused with the way to split it", async () => {
  const text = (await linesOf(await readFixture("tools"))).join("\n");
  await expect(importSession(await openMemoryLog(), text)).rejects.toMatchObject({
    code: "INVALID_INPUT",
    message: expect.stringContaining('`text.split("\\n")`') as unknown,
  });
});

const fromLater: NewEvent = {
  type: "unknown",
  time: 5,
  data: { type: "later.happened", version: 3, data: { "\u2028": ["__proto__", -0.5, null] } },
};

describe("a session that was exported", () => {
  it.each(fixtureNames)("is the same once it is imported, under any name: %s", async (name) => {
    const events = await readFixture(name);
    await using log = await openMemoryLog();
    const imported = await importSession(log, await linesOf(events), { as: "again" });
    expect(imported).toEqual({ session: "again", events: events.length });
    deepStrictEqual(await Array.fromAsync(log.read("again")), events);
    expect((await verifySession(log, "again")).problems).toEqual([]);
    const [, ...lines] = await Array.fromAsync(exportSession(log, "again"));
    expect(lines).toEqual((await linesOf(events)).slice(1));
  });

  it("is to the byte the same, whatever is in it", async () => {
    await fc.assert(
      fc.asyncProperty(anyEvents, async (events) => {
        fc.pre(events.length > 0);
        await using log = await openMemoryLog();
        const lines = await linesOf(events);
        await importSession(log, lines, { verify: false });
        const stored = await Array.fromAsync(log.read("s"));
        expect(JSON.stringify(stored)).toBe(JSON.stringify(events));
        expect(lines.every((line) => !line.includes("\n"))).toBe(true);
      }),
      runs(60, 150),
    );
  });

  it("keeps the events of types that this release does not know, and ids of events", async () => {
    const events = [...(await readFixture("tools")), fromLater, { ...fromLater, id: "once" }];
    await using log = await openMemoryLog();
    await importSession(log, await linesOf(events));
    const stored = await Array.fromAsync(log.read("s"));
    expect(stored.slice(-2)).toEqual([
      { ...fromLater, position: events.length - 1 },
      { ...fromLater, position: events.length, id: "once" },
    ]);
    expect(
      (await log.append("s", "any", [{ ...fromLater, id: "once" }], { origin: "copied" })).repeated,
    ).toBe(true);
  });

  it("says in its first line what it is, in which format, and how long", async () => {
    const [header = "", first = ""] = await linesOf(await readFixture("tools"));
    expect(JSON.parse(header)).toMatchObject({ turnlog: "session", format: 3, session: "s" });
    expect(JSON.parse(first)).toMatchObject({ position: 1, type: "session.created", version: 1 });
  });

  it("has what was recorded when the export began", async () => {
    await using log = await logOf(await readFixture("tools"));
    const before = await log.revision("s");
    const lines = exportSession(log, "s");
    const header = await lines.next();
    await log.append("s", "any", [fromLater], { origin: "copied" });
    expect(JSON.parse(String(header.value))).toMatchObject({ events: before });
    expect(await Array.fromAsync(lines)).toHaveLength(before);
  });
});

describe("an import", () => {
  it("is all or nothing: no line may be missing, twice, in another place, or cut off", async () => {
    const lines = await linesOf(await readFixture("trouble"));
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), fc.nat({ max: 3 }), async (one, other, how) => {
        const at = 1 + (one % (lines.length - 1));
        const line = lines[at] ?? "";
        const changed = [
          lines.toSpliced(at, 1),
          lines.toSpliced(at, 0, line),
          lines.toSpliced(at, 1).toSpliced(1 + (other % (lines.length - 1)), 0, line),
          [...lines.slice(0, at), line.slice(0, other % line.length)],
        ][how];
        fc.pre(changed !== undefined && changed.join("\n") !== lines.join("\n"));
        expect((await refusal(changed ?? [])).code).toBe("INVALID_INPUT");
      }),
      runs(60, 100),
    );
  });

  it.each(sampled(fixtureNames, 1))(
    "is refused without its last lines, also unchecked: %s",
    async (name) => {
      const lines = await linesOf(await readFixture(name));
      for (const left of [lines.length - 1, lines.length - 2, 2, 1]) {
        for (const verify of [true, false]) {
          const error = await refusal(lines.slice(0, left), { verify });
          expect([left, verify, error.code]).toEqual([left, verify, "INVALID_INPUT"]);
          expect(error.message).toContain("its header says");
        }
      }
    },
  );

  it.each<[string, (lines: readonly string[]) => readonly string[], object]>([
    ["is empty", () => [], { code: "INVALID_INPUT" }],
    ["has no header", (lines) => lines.slice(1), { code: "INVALID_INPUT" }],
    [
      "is of a later format",
      ([header = "", ...rest]) => [header.replace('"format":3', '"format":4'), ...rest],
      { code: "EVENT_TOO_NEW" },
    ],
    [
      "has an event of a later version",
      (lines) => lines.map((line) => line.replace('"version":2', '"version":3')),
      { code: "EVENT_TOO_NEW", position: 2 },
    ],
    [
      "has data that does not fit its type",
      (lines) => lines.map((line) => line.replace('"turn.started"', '"turn.ended"')),
      { code: "EVENT_INVALID", position: 3 },
    ],
    [
      "breaks a law",
      (lines) => lines.map((line) => line.replace("Plan a journey", "Plan a voyage")),
      { code: "EVENT_INVALID", position: 5 },
    ],
  ])("is refused, and writes nothing, when the file %s", async (_, change, expected) => {
    const error = await refusal(change(await linesOf(await readFixture("tools"))));
    expect(error).toMatchObject(expected);
  });

  it("imports a session that breaks a law with `verify: false`", async () => {
    const events = (await readFixture("tools")).slice(0, 3);
    const twice = [...events, ...events.slice(1)];
    const lines = await linesOf(twice);
    expect((await refusal(lines)).message).toContain("verify: false");
    await using log = await openMemoryLog();
    expect(await importSession(log, lines, { verify: false })).toMatchObject({ events: 5 });
  });

  it("does not touch a session that is there", async () => {
    const events = await readFixture("tools");
    await using log = await logOf(events.slice(0, 3));
    const refused = importSession(log, await linesOf(events));
    await expect(refused).rejects.toMatchObject({ code: "REVISION_CONFLICT", session: "s" });
    expect(await log.revision("s")).toBe(3);
  });

  it("is one append, so that whatever dies in between leaves all of it or nothing", async () => {
    const events = await readFixture("long-talk");
    await using log = await openMemoryLog();
    const appends: number[] = [];
    const counted = wrapLog(log, {
      append: (session, expected, batch) => {
        appends.push(batch.length);
        return log.append(session, expected, batch, { origin: "copied" });
      },
    });
    await importSession(counted, await linesOf(events));
    expect(appends).toEqual([events.length]);
  });
});

it("is read once and handed on in parts, however long it is, to a log that takes parts", async () => {
  const most: number[] = [];
  for (const texts of [6000, 12_000]) {
    await using log = await openMemoryLog();
    const lines = longFile(texts);
    let read = 0;
    let written = 0;
    let ahead = 0;
    const source = async function* (): AsyncGenerator<string> {
      for (const line of lines) {
        read++;
        yield line;
      }
    };
    const parts = wrapLog(log, {
      appendParts: async (session, given, options) => {
        expect(read).toBe(lines.length);
        const counted = async function* (): AsyncGenerator<readonly NewEvent[]> {
          for await (const part of given) {
            ahead = Math.max(ahead, part.length);
            yield part;
            written += part.length;
          }
        };
        return await appendParts(log, session, counted(), options);
      },
    });
    await importSession(parts, source(), { verify: false });
    expect(written).toBe(lines.length - 1);
    expect(await Array.fromAsync(exportSession(log, "s"))).toEqual(lines);
    most.push(ahead);
  }
  expect(most[1]).toBe(most[0]);
});

it.each([
  ["whose laws were checked has stored states on the way", true],
  ["that was not checked has none, and gets them when it is opened", false],
])("a long session %s", async (_name, verify) => {
  await using log = await openMemoryLog();
  const talk = Array.from({ length: 300 }, () => [
    { role: "user", content: "And then?" } as const,
    { role: "assistant", content: "More." } as const,
  ]);
  const [imported] = await importMessages(log, talk.flat(), { from: "model-messages", as: "s" });
  const events = imported?.events ?? 0;
  expect(events).toBeGreaterThan(EVENTS_PER_SNAPSHOT);
  await using other = await openMemoryLog();
  await importSession(other, await Array.fromAsync(exportSession(log, "s")), { verify });
  for (const one of [log, ...(verify ? [other] : [])]) {
    const stored = await loadSessionSnapshot(one, "s");
    expect(stored.state.position).toBeGreaterThan(events - EVENTS_PER_SNAPSHOT - 50);
  }
  expect((await storedPositions(other, "s")).length > 0).toBe(verify);
  expect((await verifySession(other, "s")).problems).toEqual([]);
});

/** A header and so many events, a large one among them. */
function longFile(texts: number): readonly string[] {
  const header = { turnlog: "session", format: 3, session: "s", events: texts };
  const events = Array.from({ length: texts }, (_, index) => ({
    position: index + 1,
    time: index,
    type: "part.raw",
    version: 1,
    data: { rawValue: index === 300 ? "word".repeat(300_000) : `word ${index}` },
  }));
  return [header, ...events].map((line) => JSON.stringify(line));
}

it("of a fork is a whole session, whose header says where it branched off, also when it is exported again", async () => {
  await using log = await openMemoryLog();
  const events = await readFixture("tools");
  await log.append("p", "none", events, { origin: "copied" });
  const at = events.findLast(({ type }) => type === "turn.ended")?.position ?? 0;
  await forkSession(log, "p", { as: "f", position: at, now: 5 });
  const lines = await Array.fromAsync(exportSession(log, "f"));
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    turnlog: "session",
    format: 3,
    session: "f",
    events: at + 1,
    forkedFrom: { session: "p", position: at },
  });
  await using other = await openMemoryLog();
  await importSession(other, lines);
  expect(await Array.fromAsync(exportSession(other, "f"))).toEqual(lines);
  const [entry] = await Array.fromAsync(other.list());
  expect(entry).not.toHaveProperty("forkedFrom");
  expect(await Array.fromAsync(other.read("f"))).toEqual(await Array.fromAsync(log.read("f")));
  expect((await verifySession(other, "f")).problems).toEqual([]);
});
