/** A session that was thinned is the same session: only what an event says is gone, is gone. */

import * as fc from "fast-check";
import type { ModelMessage } from "ai";
import { describe, expect, it, vi } from "vitest";
import { boundsTrimming, type SessionEvent } from "../../src/events/index.ts";
import type { StoreLog } from "../../src/store/leveldb/index.ts";
import { trimLog, openMemoryLog, verifySession } from "../../src/public/index.ts";
import { promptMessages, type HistoryState } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { replay, stateAt, type Replay } from "../support/replay.ts";
import { patience, runs, stepOf } from "../support/runs.ts";
import { Choices } from "./choices.ts";
import { ImaginedSession } from "./imagined-session.ts";
import { allPartsOf } from "./session-digests.ts";
import { fixtureNames, readFixture } from "./session-fixture.ts";
import { SESSION } from "./stage.ts";

vi.setConfig({ testTimeout: patience });

async function logOf(events: readonly SessionEvent[]): Promise<StoreLog> {
  const log = await openMemoryLog();
  await log.append(SESSION, "none", events, { origin: "recorded" });
  return log;
}

async function eventsIn(log: StoreLog): Promise<readonly SessionEvent[]> {
  const events = await Array.fromAsync(log.read(SESSION));
  const order = await Array.fromAsync(log.readAll());
  expect(order.map(({ event }) => event)).toEqual(events);
  expect(await Array.fromAsync(log.read(SESSION, { backwards: true }))).toEqual(
    events.toReversed(),
  );
  return events;
}

/** The events that were there before, each of the type that it had. */
function held(before: readonly SessionEvent[], after: readonly SessionEvent[]) {
  expect(after.slice(0, before.length).map(({ type, position }) => [position, type])).toEqual(
    before.map(({ type, position }) => [position, type]),
  );
  expect(after.slice(before.length).map(({ type }) => type)).toEqual(
    after.length === before.length ? [] : ["session.thinned"],
  );
}

/** The views at every landmark and at the end are the same as before. */
function sameAtLandmarks(
  before: readonly SessionEvent[],
  after: readonly SessionEvent[],
  of: (state: SessionState) => unknown,
): void {
  const [was, is] = [replay(before), replay(after)];
  for (const event of before) {
    if (!boundsTrimming(event) && event.position !== before.length) continue;
    const { position } = event;
    expect([position, of(stateAt(is, position))]).toStrictEqual([
      position,
      of(stateAt(was, position)),
    ]);
  }
}

/** All that a state says but reasoning: of the history and of the prompt, what is left without it. */
function withoutThought(state: SessionState): unknown {
  const parts = allPartsOf(state);
  const prompt = promptOf(state).map((message) =>
    typeof message.content === "string"
      ? message
      : {
          ...message,
          content: message.content.filter(({ type }) => !type.startsWith("reasoning")),
        },
  );
  return { ...parts, history: bare(state.history), prompt };
}

function bare({ items, open, ...rest }: HistoryState): unknown {
  const of = (item: HistoryState["items"][number]): unknown =>
    item.kind !== "step"
      ? item
      : { ...item, parts: item.parts.filter(({ kind }) => !kind.startsWith("reasoning")) };
  return { ...rest, items: items.map(of), open: open === undefined ? undefined : of(open) };
}

function thoughtsIn(messages: readonly ModelMessage[]): number {
  return messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content.filter(({ type }) => type.startsWith("reasoning")),
  ).length;
}

const imagined: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(fc.nat({ max: 2 ** 16 }), { maxLength: 400, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live());

/** All of it, whatever is open. */
function whole(drop: "boundaries" | "reasoning", events: readonly SessionEvent[]) {
  const data = { drop, spans: [{ from: 1, to: events.length }] };
  return { expected: events.length, event: { type: "session.thinned", time: 1, data } } as const;
}

describe.each(fixtureNames)("the session %s without the boundaries of its deltas", (name) => {
  it("has at every step boundary the state, the prompt and the figures that it had", async () => {
    const before = await readFixture(name);
    await using log = await logOf(before);
    const done = await trimLog(log, SESSION, { drop: "boundaries", keepSteps: 0, now: 1 });
    const after = await eventsIn(log);
    held(before, after);
    expect(done.after).toBeLessThanOrEqual(done.before);
    sameAtLandmarks(before, after, allPartsOf);
    expect(lawProblems(after)).toEqual([]);
    const verified = await verifySession(log, SESSION, { every: stepOf(4) });
    expect(verified).toMatchObject({ problems: [] });
    expect(verified.lostPrompts).toBeUndefined();
    const again = await trimLog(log, SESSION, { drop: "boundaries", keepSteps: 0 });
    expect(again).toMatchObject({ events: 0, before: 0, after: 0, revision: after.length });
  });
});

describe.each(fixtureNames)("the session %s without its reasoning", (name) => {
  it("has all else, valid prompts, and says which of them cannot be checked", async () => {
    const before = await readFixture(name);
    await using log = await logOf(before);
    const options = { drop: "reasoning", keepSteps: 0, shown: true, now: 1 } as const;
    const done = await trimLog(log, SESSION, options);
    const after = await eventsIn(log);
    held(before, after);
    sameAtLandmarks(before, after, withoutThought);
    expect(lawProblems(after)).toEqual([]);
    const verified = await verifySession(log, SESSION, { every: stepOf(4) });
    expect(verified).toMatchObject({ problems: [] });
    const [was, is] = [replay(before), replay(after)];
    const changed = before.filter(
      ({ position, type }) =>
        type === "step.started" && promptAt(was, position - 1) !== promptAt(is, position - 1),
    );
    expect(verified.lostPrompts ?? 0).toBe(changed.length);
    // One step has a call that the provider ran.
    expect(done.kept).toEqual({ shown: 0, bound: name === "tools" ? 1 : 0 });
    expect(thoughtsIn(promptOf(is.last))).toBe(done.kept.bound);
    expect(await trimLog(log, SESSION, options)).toMatchObject({ events: 0, steps: 0 });
  });
});

function promptAt(replayed: Replay, position: number): string {
  return JSON.stringify(promptOf(stateAt(replayed, position)));
}

function promptOf({ history, view }: SessionState): readonly ModelMessage[] {
  return promptMessages(history, view);
}

it("a session that the runtime may record is the same without boundaries, wherever it is cut off", async () => {
  await fc.assert(
    fc.asyncProperty(imagined, async (before) => {
      if (before.length === 0) return;
      await using log = await logOf(before);
      await log.trim(SESSION, whole("boundaries", before));
      const after = await eventsIn(log);
      held(before, after);
      sameAtLandmarks(before, after, allPartsOf);
      expect(lawProblems(after, { cutOff: true })).toEqual([]);
    }),
    runs(15),
  );
});

it("a session that the runtime may record has all but its reasoning, wherever it is cut off", async () => {
  await fc.assert(
    fc.asyncProperty(imagined, fc.boolean(), async (before, both) => {
      if (before.length === 0) return;
      await using log = await logOf(before);
      await log.trim(SESSION, whole("reasoning", before));
      const now = await eventsIn(log);
      held(before, now);
      if (both) await log.trim(SESSION, whole("boundaries", now));
      const after = await eventsIn(log);
      sameAtLandmarks(before, after, withoutThought);
      expect(lawProblems(after, { cutOff: true })).toEqual([]);
    }),
    runs(15),
  );
});
