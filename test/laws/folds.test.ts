/** Law 3: any way of folding is the same. Over logs that make no sense at all, so over all others too. */

// Not vitest's own comparison, which takes a key named "constructor" for a constructor.
import { deepStrictEqual } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { openMemoryLog } from "../../src/public/index.ts";
import { isDelta, type SessionEvent } from "../../src/events/index.ts";
import { machineFold } from "../../src/machines/index.ts";
import {
  history,
  projectionNames,
  promptMessages,
  sessionProjections,
  type Projection,
} from "../../src/projections/index.ts";
import {
  foldSession,
  initialSessionState,
  type SessionState,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  readSessionState,
} from "../../src/state/index.ts";
import { Inspection } from "../../src/archive/verify/index.ts";
import { replay, stateAt } from "../support/replay.ts";
import { patience, runs, times } from "../support/runs.ts";
import { anyEvents } from "./any-event.ts";
import { partsOf } from "./session-digests.ts";

const SESSION = "any";

function fold(state: SessionState, events: readonly SessionEvent[]): SessionState {
  return events.reduce((before, event) => foldSession(before, event).state, state);
}

/** Some positions of a log, in hundredths of its length. */
const cuts = fc.array(fc.nat({ max: 100 }), { maxLength: 5 });

function positions(events: readonly SessionEvent[], at: readonly number[]): readonly number[] {
  const all = at.map((hundredths) => Math.round((hundredths / 100) * events.length));
  // A session without events is never kept.
  return [...new Set(all)].filter((position) => position > 0).toSorted((a, b) => a - b);
}

vi.setConfig({ testTimeout: patience });

describe("a log of any events in any order", () => {
  it("is in the same state when it is inspected, wherever that is asked for", () => {
    const deltas = fc
      .array(fc.tuple(fc.constantFrom("a", "b"), fc.constantFrom("", "one", "two")), {
        maxLength: 9,
      })
      .map((texts) => texts.map(([id, text]) => ({ id, text })));
    fc.assert(
      fc.property(anyEvents, deltas, cuts, (before, texts, at) => {
        const begun: SessionEvent<"step.started"> = {
          position: before.length + 1,
          time: 1,
          type: "step.started",
          data: {
            turn: 1,
            step: 1,
            attempt: 1,
            promptDigest: "",
            model: { provider: "p", modelId: "m" },
            estimate: { tokens: 1, basis: "length" },
          },
        };
        const stream = texts.map((data, index): SessionEvent => {
          return { position: begun.position + 1 + index, time: 1, type: "part.text-delta", data };
        });
        const events = [...before, begun, ...stream];
        const inspection = new Inspection();
        const asked = new Set([...positions(events, at), events.length]);
        let state = initialSessionState;
        const wrong = events.flatMap((event) => {
          inspection.check(event);
          state = foldSession(state, event).state;
          const { position } = event;
          return !asked.has(position) || isDeepStrictEqual(inspection.state, state)
            ? []
            : [position];
        });
        expect(wrong).toEqual([]);
      }),
      runs(60, 150),
    );
  });

  it("is folded, and makes a prompt, without an error", () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        for (const { history, view } of replay(events).states) promptMessages(history, view);
        expect(replay(events).last.position).toBe(events.length);
      }),
      runs(300),
    );
  });

  it("folds the same from any snapshot on, kept and loaded as the runtime does", async () => {
    await fc.assert(
      fc.asyncProperty(anyEvents, cuts, async (events, at) => {
        fc.pre(events.length > 0);
        const replayed = replay(events);
        await using log = await openMemoryLog();
        await log.append(SESSION, "none", events, { origin: "recorded" });
        let kept = nothingKept;
        for (const position of positions(events, at)) {
          const tail = events.slice(kept.state.position, position);
          const saved = await saveSessionSnapshot(log, SESSION, fold(kept.state, tail), kept);
          const loaded = await loadSessionSnapshot(log, SESSION);
          expect(loaded.state.position).toBe(position);
          deepStrictEqual(partsOf(loaded.state), partsOf(stateAt(replayed, position)));
          // A session continues from what it has saved, and another process from what it has loaded.
          kept = position % 3 === 0 ? loaded : saved;
        }
        const read = await readSessionState(log, SESSION);
        deepStrictEqual(partsOf(read), partsOf(replayed.last));
      }),
      { numRuns: times(200) },
    );
  });

  it("folds the same when its events come more than once, as long as none is missing", () => {
    fc.assert(
      fc.property(anyEvents, fc.array(fc.nat({ max: 80 }), { maxLength: 20 }), (events, again) => {
        const repeated = events.flatMap((event, index) => {
          const times = again.filter((position) => position % events.length === index);
          return [
            event,
            ...times.flatMap((back) => events.slice(Math.max(0, index - back), index + 1)),
          ];
        });
        const state = fold(initialSessionState, repeated);
        deepStrictEqual(state, fold(initialSessionState, events));
      }),
      runs(200),
    );
  });

  it("is refused when a position is missing", () => {
    fc.assert(
      fc.property(anyEvents, fc.nat(), (events, at) => {
        fc.pre(events.length > 1);
        const missing = at % (events.length - 1);
        const gap = events.filter((_, index) => index !== missing);
        expect(() => fold(initialSessionState, gap)).toThrow(`Position ${missing + 1} is missing`);
      }),
      runs(50),
    );
  });

  it("means something by its deltas to the history, and nothing to anything else", () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const replayed = replay(events);
        for (const event of events.filter(isDelta)) {
          const state = stateAt(replayed, event.position - 1);
          expect(machineFold(state.machine, event)).toEqual({
            snapshot: state.machine,
            effects: [],
          });
          for (const name of projectionNames.filter((one) => one !== "history")) {
            const projection: Projection<object> = sessionProjections[name];
            expect(projection.fold(state[name], event), name).toBe(state[name]);
          }
          const after = stateAt(replayed, event.position);
          deepStrictEqual(after.history, history.fold(state.history, event));
          expect(after).toEqual({ ...state, position: event.position, history: after.history });
        }
      }),
      runs(100),
    );
  });

  it("is to the byte the same recorded, shown as it comes, and read later", async () => {
    await fc.assert(
      fc.asyncProperty(anyEvents, async (events) => {
        fc.pre(events.length > 0);
        await using log = await openMemoryLog();
        const following = (async (): Promise<readonly SessionEvent[]> => {
          const shown: SessionEvent[] = [];
          for await (const event of log.subscribe(SESSION)) {
            if (shown.push(event) === events.length) break;
          }
          return shown;
        })();
        for (const event of events)
          await log.append(SESSION, event.position - 1, [event], { origin: "recorded" });
        const stored = await Array.fromAsync(log.read(SESSION));
        const shown = await following;
        expect(JSON.stringify(stored)).toBe(JSON.stringify(events));
        expect(JSON.stringify(shown)).toBe(JSON.stringify(events));
        deepStrictEqual(fold(initialSessionState, stored), replay(events).last);
      }),
      { numRuns: times(150) },
    );
  });
});
