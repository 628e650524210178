/** What is kept of a long session beside its log: enough to open it quickly, each thing once. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  exportSession,
  importSession,
  openLog,
  openMemoryLog,
  verifySession,
  viewSession,
  type EventLog,
} from "../../src/public/index.ts";
import {
  jsonSchema,
  type EventBody,
  type SessionEvent,
  type Snapshot,
} from "../../src/events/index.ts";
import {
  keepStates,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
} from "../../src/state/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { asked, called, stepFinished, stepStarted, turnEnded } from "../projections/session-of.ts";
import { replay, stateAt } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { echo } from "./tools.ts";

const DELTAS = 500;
const STEPS = 20;
/** What opening may have to fold: the events between two snapshots, and those of the step at the end. */
const MOST_TO_FOLD = 2000 + 2 * DELTAS;

const talk = Array.from({ length: DELTAS }, (_, index) => `word ${index} `);

/** A turn of many steps; `hold` comes in the middle of the last one. */
function longTurn(hold?: ReturnType<typeof gate>) {
  return scriptedModel((_, step) =>
    step < STEPS - 1
      ? calling(
          { type: "text", deltas: [`step ${step} begins: `, ...talk] },
          call("echo", `${step}`, { value: step }),
        )
      : calling({ type: "text", deltas: hold === undefined ? talk : ["one ", hold, "two"] }),
  );
}

interface Watched {
  readonly log: EventLog;
  /** From which positions on events were read. */
  readonly reads: number[];
  readonly saved: Snapshot[];
}

function watch(log: EventLog): Watched {
  const reads: number[] = [];
  const saved: Snapshot[] = [];
  const watched = wrapLog(log, {
    read: (session, range) => {
      reads.push(range?.from ?? 1);
      return log.read(session, range);
    },
    saveSnapshot: (session, snapshot) => {
      saved.push(snapshot);
      return log.saveSnapshot(session, snapshot);
    },
  });
  return { log: watched, reads, saved };
}

/** Events that are read to look at a position. */
async function readFor(log: EventLog, session: string, at: number): Promise<number> {
  let count = 0;
  const counted = wrapLog(log, {
    async *read(...range) {
      for await (const event of log.read(...range)) {
        count += 1;
        yield event;
      }
    },
  });
  await viewSession(counted, session, at);
  return count;
}

describe("a long session that comes from outside", () => {
  it("is looked at by reading a bounded tail at any position, as soon as it is imported", async () => {
    await using log = await openMemoryLog();
    await using open = await openSession({ model: longTurn(), tools: { echo } }, { log });
    await (
      await open.session.send("Go.")
    ).result;
    await open.runtime.close();
    await importSession(log, exportSession(log, "s"), { as: "i" });
    const revision = await log.revision("i");
    for (let at = 500; at < revision; at += 700) {
      expect(await readFor(log, "i", at)).toBeLessThan(MOST_TO_FOLD);
      expect(await viewSession(log, "i", at)).toEqual({
        ...(await viewSession(log, "s", at)),
        session: "i",
      });
    }
    expect(await verifySession(log, "i")).toMatchObject({ problems: [] });
  });

  it("is so once a runtime has opened it, where nothing was kept of it", async () => {
    await using store = await openMemoryLog();
    await using open = await openSession({ model: longTurn(), tools: { echo } }, { log: store });
    await (
      await open.session.send("Go.")
    ).result;
    const events = await open.events();
    await open.runtime.close();
    await using log = await openMemoryLog();
    await log.append("s", "none", events);
    const middle = Math.floor(events.length / 2);
    expect(await readFor(log, "s", middle)).toBe(middle);
    await using later = await openSession({ model: longTurn(), tools: { echo } }, { log });
    await later.runtime.close();
    for (let at = 500; at < events.length; at += 700)
      expect(await readFor(log, "s", at)).toBeLessThan(MOST_TO_FOLD);
    // What continues behind them is kept as ever.
    const { log: watched, reads } = watch(log);
    await using again = await openSession({ model: longTurn(), tools: { echo } }, { log: watched });
    await (
      await again.session.send("Go on.")
    ).result;
    await again.runtime.close();
    expect(reads[0]).toBeGreaterThan(events.length - MOST_TO_FOLD);
    expect(await readFor(log, "s", await log.revision("s"))).toBeLessThan(MOST_TO_FOLD);
    expect(await verifySession(log, "s")).toMatchObject({ problems: [] });
  });
});

describe("what is kept of a session", () => {
  it("has no item as it was before a call that was still running ended", async () => {
    const key = { step: 1, callId: "a" };
    const error = { name: "Error", message: "It fell." };
    const bodies: readonly EventBody[] = [
      ...asked("Go."),
      stepStarted(1),
      called("a"),
      stepFinished(1, "tool-calls"),
      ...asked("And?", 2),
      { type: "tool.failed", data: { ...key, error } },
    ];
    const events = bodies.map((body, index): SessionEvent => ({
      position: index + 1,
      time: 0,
      ...body,
    }));
    await using log = await openMemoryLog();
    await log.append("s", "none", events, { origin: "recorded" });
    const { states, last } = replay(events);
    const before = states[events.length - 1] ?? last;
    expect(before.history.items).toHaveLength(last.history.items.length);
    const kept = await saveSessionSnapshot(log, "s", before, nothingKept);
    await saveSessionSnapshot(log, "s", last, kept);
    const { state } = await loadSessionSnapshot(log, "s");
    expect(state.history).toEqual(last.history);
    expect(state.toolCalls.ended).toMatchObject([key]);
  });

  it("grows by as many bytes for a turn late in a long chat as for an early one", async () => {
    const summarized = (to: number): EventBody => ({
      type: "context.compacted",
      data: {
        strategy: "s",
        covers: { from: 1, to },
        summary: "They asked on. ".repeat(60),
        beforeTokens: 99,
        afterTokens: 9,
      },
    });
    const bodies = Array.from({ length: 600 }, (_, index): readonly EventBody[] => [
      ...asked("And then?", index + 1),
      stepStarted(index + 1),
      stepFinished(index + 1),
      turnEnded(index + 1),
      ...(index % 10 === 9 ? [summarized(index)] : []),
    ]).flat();
    const events = bodies.map((body, index) => ({ position: index + 1, time: 0, ...body }));
    const replayed = replay(events);
    await using log = await openMemoryLog();
    await log.append("s", "none", events, { origin: "recorded" });
    const { log: watched, saved } = watch(log);
    let kept = nothingKept;
    // In the middle of a step and between two turns.
    for (const position of [610, 1220, 1827, 2440, 3047, 3660])
      kept = await saveSessionSnapshot(watched, "s", stateAt(replayed, position), kept);
    const pieces = saved.filter(({ projection }) => projection.startsWith("session@"));
    const [, early = 0, ...later] = pieces.map((piece) => JSON.stringify(piece).length);
    for (const size of later) expect(size).toBeLessThan(early * 1.1);
    for (const position of [1827, 3660]) {
      const { state } = await loadSessionSnapshot(log, "s", position);
      const { queue, usage, view } = stateAt(replayed, position);
      expect(state).toMatchObject({ position, queue, usage, view });
    }
  });
});

it("many states are stored with one index, behind all of their pieces", async () => {
  const bodies = Array.from({ length: 40 }, (_, index): readonly EventBody[] => [
    ...asked("And then?", index + 1),
    stepStarted(index + 1),
    stepFinished(index + 1),
    turnEnded(index + 1),
  ]).flat();
  const events = bodies.map((body, index) => ({ position: index + 1, time: 0, ...body }));
  const replayed = replay(events);
  await using log = await openMemoryLog();
  await log.append("s", "none", events, { origin: "recorded" });
  const { log: watched, saved } = watch(log);
  const positions = events.flatMap(({ type, position }) => (type === "turn.ended" ? position : []));
  const states = positions.map((position) => stateAt(replayed, position));
  await keepStates(watched, "s", states, nothingKept);
  const names = saved.map(({ projection }) => projection);
  expect(names).toEqual([...positions.map((position) => `session@${position}`), "session"]);
  const { state } = await loadSessionSnapshot(log, "s", positions[20]);
  expect(state.usage).toEqual(states[20]?.usage);
});

describe("a long session", () => {
  it("opens from near its end when its process is gone late in its only turn", async () => {
    await using log = await openMemoryLog();
    const hold = gate();
    await using first = await openSession({ model: longTurn(hold), tools: { echo } }, { log });
    const turn = await first.session.send("Go.");
    await hold.reached;
    const revision = await log.revision("s");
    expect(revision).toBeGreaterThan(STEPS * DELTAS - DELTAS);
    const second = watch(log);
    const { position } = await first.session.view();
    const view = await first.session.at(position);
    await using other = await openSession({ model: longTurn() }, { log: second.log });
    expect(second.reads[0]).toBeGreaterThan(revision - MOST_TO_FOLD);
    expect((await other.session.at(position)).prompt).toEqual(view.prompt);
    hold.open();
    await expect(turn.result).rejects.toMatchObject({ code: "SESSION_FAILED" });
  });

  it("is kept before its runtime closes the store, also when its turn has only just ended", async () => {
    const dir = await mkdtemp(join(tmpdir(), "turnlog-snapshot-"));
    try {
      const model = scriptedModel([saying(...Array<string>(2500).fill("word "))]);
      const runtime = await createRuntime({ dir, durability: "os", agent: { model } });
      const session = await runtime.session("s");
      await (
        await session.send("Go.")
      ).result;
      await runtime.close();
      await using log = await openLog({ dir, durability: "os" });
      const kept = await log.loadSnapshot("s", "session");
      expect(kept?.position).toBe(await log.revision("s"));
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it("is kept without writing anything twice, however many turns it has", async () => {
    await using log = await openMemoryLog();
    const watched = watch(log);
    const model = scriptedModel((_, turn) => ({
      parts: [{ type: "text", deltas: [`turn ${turn} begins: `, ...talk, ...talk, ...talk] }],
    }));
    await using open = await openSession({ model }, { log: watched.log });
    for (let turn = 0; turn < 12; turn++) {
      await (
        await open.session.send("Go.")
      ).result;
    }
    await open.runtime.close();
    const written = JSON.stringify(watched.saved);
    const told = Array.from(
      { length: 12 },
      (_, turn) => written.split(`turn ${turn} begins`).length - 1,
    );
    // The last turns may come after the last snapshot.
    expect(Math.max(...told)).toBe(1);
    expect(told.slice(0, 9)).toEqual(Array(9).fill(1));
  });

  it("is read at any position from the snapshot before it, and is what its events say", async () => {
    await using log = await openMemoryLog();
    const watched = watch(log);
    const open = await openSession({ model: longTurn(), tools: { echo } }, { log: watched.log });
    await (
      await open.session.send("Go.")
    ).result;
    await open.runtime.close();
    const last = await log.revision("s");
    const bare = wrapLog(log, { loadSnapshot: () => Promise.resolve(undefined) });
    for (const at of [1, 1000, 2500, 4999, 7001, 9000, last - 1, last]) {
      watched.reads.length = 0;
      const view = await viewSession(watched.log, "s", at);
      expect(watched.reads[0]).toBeGreaterThan(at - MOST_TO_FOLD);
      expect(view).toEqual(await viewSession(bare, "s", at));
    }
  });

  it("is what is known of it when nothing newer was kept", async () => {
    await using log = await openMemoryLog();
    const { session, runtime } = await openSession({ model: longTurn(), tools: { echo } }, { log });
    const turn = await session.send("Go.");
    await turn.result;
    await runtime.close();
    const known = await loadSessionSnapshot(log, session.id);
    expect(known.chunks).not.toEqual([]);
    expect(await loadSessionSnapshot(log, session.id, undefined, known)).toBe(known);
  });

  it("is folded from the last whole piece when one of what was kept is missing, and is the same", async () => {
    await using log = await openMemoryLog();
    const agent = { model: longTurn(), tools: { echo } };
    const first = await openSession(agent, { log });
    await (
      await first.session.send("Go.")
    ).result;
    const before = await first.session.view();
    await first.runtime.close();
    const without = wrapLog(log, {
      loadSnapshot: async (session, projection) => {
        const snapshot = await log.loadSnapshot(session, projection);
        return projection.startsWith("session@") && (snapshot?.position ?? 0) > 5000
          ? undefined
          : snapshot;
      },
    });
    const second = watch(without);
    await using open = await openSession(agent, { log: second.log });
    expect(second.reads[0]).toBeGreaterThan(1);
    expect(second.reads[0]).toBeLessThan(5002);
    expect(await open.session.view()).toEqual(before);
  });

  it("is folded from the piece before when the newest one lacks a part of the state, and is the same", async () => {
    await using log = await openMemoryLog();
    const agent = { model: longTurn(), tools: { echo } };
    const first = await openSession(agent, { log });
    await (
      await first.session.send("Go.")
    ).result;
    const before = await first.session.view();
    await first.runtime.close();
    const index = await log.loadSnapshot("s", "session");
    const strange = wrapLog(log, {
      loadSnapshot: async (session, projection) => {
        const snapshot = await log.loadSnapshot(session, projection);
        const isNewest = snapshot !== undefined && snapshot.position === index?.position;
        if (!isNewest || !projection.startsWith("session@")) return snapshot;
        const piece = z.record(z.string(), jsonSchema).parse(snapshot.state);
        return { ...snapshot, state: { ...piece, rest: { of: "tomorrow" } } };
      },
    });
    const second = watch(strange);
    await using open = await openSession(agent, { log: second.log });
    expect(second.reads[0]).toBeGreaterThan(1);
    expect(second.reads[0]).toBeLessThanOrEqual(index?.position ?? 0);
    expect(await open.session.view()).toEqual(before);
  });
});
