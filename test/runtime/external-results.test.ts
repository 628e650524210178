/** Long results are in the log and not a second time in what is kept of a session. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TurnlogError, type SessionEvent, type Snapshot } from "../../src/events/index.ts";
import {
  encryptedLog,
  memoryKeys,
  openMemoryLog,
  verifySession,
  viewSession,
  type Agent,
  type EventLog,
} from "../../src/public/index.ts";
import { loadSessionSnapshot, nothingKept, saveSessionSnapshot } from "../../src/state/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { replayLog } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

const STEPS = 12;
const talk = Array.from({ length: 500 }, (_, index) => `word ${index} `);
const long = (number: number): string => `long-${number} `.repeat(200);

/** Answers at length: odd ones as an object, every fifth with other words for the model. */
const look = tool({
  inputSchema: z.object({ number: z.number() }),
  execute: ({ number }) => (number % 2 === 1 ? { found: [long(number)] } : long(number)),
  toModelOutput: ({ output }) =>
    typeof output === "string" && output.startsWith("long-10 ")
      ? { type: "text", value: `told ${output}` }
      : { type: "json", value: output },
});
/** Answers in a word. */
const ping = tool({ inputSchema: z.object({ number: z.number() }), execute: () => "short-answer" });

function agent(): Agent {
  const model = scriptedModel((_, step) =>
    step % STEPS === STEPS - 1
      ? "Done."
      : calling(
          { type: "text", deltas: [`step ${step} `, ...talk] },
          call("look", `a${step}`, { number: step }),
          call("ping", `b${step}`, { number: step }),
        ),
  );
  return { model, tools: { look, ping } };
}

interface Kept {
  readonly log: EventLog;
  readonly saved: Snapshot[];
  /** The positions of single events that were read. */
  readonly named: number[];
}

function watch(log: EventLog): Kept {
  const saved: Snapshot[] = [];
  const named: number[] = [];
  const watched = wrapLog(log, {
    saveSnapshot: (session, snapshot) => {
      saved.push(snapshot);
      return log.saveSnapshot(session, snapshot);
    },
    readAt: (session, positions) => {
      named.push(...positions);
      return log.readAt(session, positions);
    },
  });
  return { log: watched, saved, named };
}

async function ask({ session }: Pick<OpenSession, "session">): Promise<void> {
  const turn = await session.send("Go.");
  await turn.result;
}

function says(value: unknown, text: string): boolean {
  return JSON.stringify(value).includes(text);
}

/** A session of one long turn, on a log that nobody has open any more. */
async function told(log: EventLog): Promise<void> {
  const open = await openSession(agent(), { log });
  await ask(open);
  await open.runtime.close();
}

/** What its events say, without anything that was kept. */
async function folded(log: EventLog, session: string, at?: number): Promise<unknown> {
  const bare = wrapLog(log, { loadSnapshot: () => Promise.resolve(undefined) });
  return await viewSession(bare, session, at);
}

describe("what is kept of a session with long results", () => {
  it("has short results and not the long ones, which are read from the log again", async () => {
    await using log = await openMemoryLog();
    const { saved, named, ...kept } = watch(log);
    await told(kept.log);
    expect(says(saved, "short-answer")).toBe(true);
    expect(says(saved, "long-")).toBe(false);
    const last = await log.revision("s");
    for (const at of [last, last - 700, 4000, 2500])
      expect(await viewSession(kept.log, "s", at)).toEqual(await folded(log, "s", at));
    expect(named.length).toBeGreaterThan(STEPS);
    const events = await log.readAt("s", named);
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["tool.succeeded"]));
    expect((await verifySession(log, "s", { every: 500 })).problems).toEqual([]);
  });

  it("has none either when it continues after it was opened again, or is folded from its events", async () => {
    await using log = await openMemoryLog();
    await told(log);
    const again = watch(log);
    await told(again.log);
    expect(again.named.length).toBeGreaterThan(5);
    expect(says(again.saved, "short-answer")).toBe(true);
    expect(says(again.saved, "long-")).toBe(false);
    const { last: state } = await replayLog(log, "s");
    const anew = watch(log);
    await saveSessionSnapshot(anew.log, "s", state, nothingKept);
    expect(says(anew.saved, "long-")).toBe(false);
    const loaded = await loadSessionSnapshot(log, "s");
    expect(loaded.state.history).toEqual(state.history);
    // And so has one that was loaded and is kept as a whole again.
    const whole = watch(log);
    await saveSessionSnapshot(whole.log, "s", loaded.state, nothingKept);
    expect(says(whole.saved, "long-")).toBe(false);
  });

  const damage = new TurnlogError("LOG_DAMAGED", "Altered.", { session: "s", position: 1 });
  const broken: readonly (readonly [string, EventLog["readAt"]])[] = [
    ["cannot be read", () => Promise.reject(damage)],
    ["is not there", async () => []],
  ];
  it.each(broken)("counts as none where a result %s: its events are folded", async (_, readAt) => {
    await using log = await openMemoryLog();
    await told(log);
    expect((await loadSessionSnapshot(log, "s")).state.position).toBeGreaterThan(2000);
    const without = wrapLog(log, { readAt });
    expect(await loadSessionSnapshot(without, "s")).toBe(nothingKept);
    expect(await viewSession(without, "s")).toEqual(await folded(log, "s"));
  });

  it("counts up to the result that cannot be read: only the events behind are folded", async () => {
    await using log = await openMemoryLog();
    await told(log);
    const { named, ...whole } = watch(log);
    const all = await loadSessionSnapshot(whole.log, "s");
    const last = Math.max(...named);
    const damaged = wrapLog(log, {
      readAt: (session, positions) =>
        positions.includes(last) ? Promise.reject(damage) : log.readAt(session, positions),
    });
    const gone = wrapLog(log, {
      readAt: async (...read) =>
        (await log.readAt(...read)).filter(({ position }) => position !== last),
    });
    for (const without of [damaged, gone]) {
      const { chunks } = await loadSessionSnapshot(without, "s");
      expect(chunks).toEqual(all.chunks.filter((position) => position < last));
      expect(chunks).not.toEqual([]);
      expect(await viewSession(without, "s")).toEqual(await folded(log, "s"));
    }
  });

  it("counts as none where a named event is not the result of its call", async () => {
    await using log = await openMemoryLog();
    await told(log);
    const others: readonly ((event: SessionEvent) => SessionEvent)[] = [
      (event) => ({ ...event, type: "part.text-end", data: { id: "0" } }),
      (event) =>
        event.type === "tool.succeeded"
          ? { ...event, data: { ...event.data, callId: "another" } }
          : event,
      (event) =>
        event.type === "tool.succeeded" ? { ...event, data: { ...event.data, step: 99 } } : event,
    ];
    for (const other of others) {
      const wrong = wrapLog(log, {
        readAt: async (...read) => (await log.readAt(...read)).map(other),
      });
      expect(await loadSessionSnapshot(wrong, "s")).toBe(nothingKept);
    }
  });

  it("serves forks, also when the session that they share it with is deleted", async () => {
    await using log = await openMemoryLog();
    await using open = await openSession(agent(), { log });
    await ask(open);
    const at = (await open.session.view()).position;
    const fork = await open.session.fork({ id: "f", position: at });
    await ask({ session: fork });
    const inner = await fork.fork({ id: "g", position: at - 600 });
    const views = new Map<string, unknown>();
    for (const session of [fork, inner]) views.set(session.id, await session.view());
    for (const id of ["f", "g"]) expect(await viewSession(log, id)).toEqual(await folded(log, id));
    await open.runtime.close();
    await log.delete("s", { forks: "copy" });
    for (const id of ["f", "g"]) {
      expect((await loadSessionSnapshot(log, id)).state.position).toBeGreaterThan(2000);
      expect(await viewSession(log, id)).toEqual(views.get(id));
      expect((await verifySession(log, id, { every: 700 })).problems).toEqual([]);
    }
  });

  it("holds nothing of a long result that was redacted", async () => {
    const log = encryptedLog(await openMemoryLog(), memoryKeys());
    await told(log);
    await using open = await openSession(agent(), { log });
    const events = await open.events();
    const secret = events.find(
      ({ type, data }) => type === "tool.succeeded" && JSON.stringify(data).includes("long-2 "),
    );
    const before = await open.session.view();
    expect(says(before, "long-2 ")).toBe(true);
    await open.session.redact(secret?.position ?? 0);
    const after = await open.session.view();
    expect(says(after, "long-2 ")).toBe(false);
    expect(says(after, "long-3 ")).toBe(true);
    await ask(open);
    expect((await loadSessionSnapshot(log, "s")).state.position).toBeGreaterThan(2000);
    expect(await viewSession(log, "s")).toEqual(await folded(log, "s"));
    expect((await verifySession(log, "s", { every: 2000 })).problems).toEqual([]);
  });
});
