/** Law 2 at every position, for sessions as they live and for the recordings of them. */

import { describe, expect, it } from "vitest";
import { eventSchemas, unchained, type SessionEvent } from "../../src/events/index.ts";
import { memoryKeys, openMemoryLog, viewSession } from "../../src/public/index.ts";
import {
  foldSession,
  initialSessionState,
  type SessionState,
  loadSessionSnapshot,
  nothingKept,
  saveSessionSnapshot,
  viewOf,
} from "../../src/state/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { replay, stateAt } from "../support/replay.ts";
import { spread } from "../support/runs.ts";
import { recordedScripts } from "./recorded-scripts.ts";
import { allPartsOf } from "./session-digests.ts";
import {
  fixtureNames,
  meaningOf,
  readFixture,
  readMeaning,
  writeFixture,
  writeMeaning,
} from "./session-fixture.ts";
import { play, SESSION } from "./stage.ts";

/**
 * Events that no recording has: those of providers that run other tools; of long results, media and
 * blobs (long-result-sessions.test.ts); of forks, rewinds, hash chains and redactions; of trimming; of
 * prepared steps (prepare-step.test.ts); of models that took over (failover.test.ts); of tools that a client runs (client-tools.test.ts); and what prompts have
 * beside their messages (whole-prompt.test.ts).
 */
const unrecorded: readonly string[] = [
  "blob.stored",
  "context.cut",
  "context.media-omitted",
  "context.reduced",
  "part.raw",
  "part.tool-approval-request",
  "prompt.configured",
  "prompt.text",
  "session.chained",
  "session.forked",
  "session.metadata-set",
  "session.redacted",
  "session.rewound",
  "session.seen",
  "session.thinned",
  "session.titled",
  "step.failed-over",
  "step.prepared",
  "tool.output-requested",
  "turn.allowed",
  "turn.held",
];

describe.each(fixtureNames)("the session %s, played", (name) => {
  it("holds at every position the state that a fold of its log gives, and keeps every law", async () => {
    const { events, live, problems } = await play(recordedScripts[name].play);
    if (process.env["TURNLOG_RECORD"] === "1") await writeFixture(name, events);
    const folded = replay(events);
    const seen = new Set(live.map(({ position }) => position));
    const all = events.map((event) => event.position - 1);
    expect(all.filter((position) => !seen.has(position))).toEqual([]);
    for (const state of live) {
      const { position } = state;
      expect({ position, ...allPartsOf(state) }).toStrictEqual({
        position,
        ...allPartsOf(stateAt(folded, position)),
      });
    }
    expect(problems).toEqual([]);
    expect(lawProblems(events)).toEqual([]);
  });
});

/** What each event says, but for where in the code an error came from. */
function saidIn(events: readonly SessionEvent[]): readonly string[] {
  return unchained(events).map(({ type, data }) =>
    JSON.stringify([type, data], (name, value: unknown) => (name === "stack" ? "" : value)),
  );
}

describe.each(fixtureNames)("the recording %s", (name) => {
  const place = fixtureNames.indexOf(name);
  let once: ReturnType<typeof play> | undefined;
  /** Played once for the tests that compare with it. */
  const chained = async (): ReturnType<typeof play> =>
    await (once ??= play(recordedScripts[name].play, { hashChain: true }));

  it("means at every position what it meant when it was made", async () => {
    if (process.env["TURNLOG_RECORD"] === "meaning") await writeMeaning(name);
    const events = await readFixture(name);
    expect(meaningOf(replay(events))).toEqual(await readMeaning(name));
  });

  it("keeps every law, and each prompt that was sent can be rebuilt from it", async () => {
    const events = await readFixture(name);
    expect(events.filter((event) => event.type === "step.started")).not.toEqual([]);
    expect(lawProblems(events)).toEqual([]);
  });

  it("is the same where it is encrypted, with a hash chain over what is stored", async () => {
    const options = { hashChain: true, keys: memoryKeys() };
    const { events, problems } = await play(recordedScripts[name].play, options);
    expect([...problems, ...lawProblems(events)]).toEqual([]);
    expect(saidIn(events)).toEqual(saidIn((await chained()).events));
  });

  it("is the same with a hash chain but for its links, and keeps every law with them", async () => {
    const { events, problems } = await chained();
    expect(events.filter(({ type }) => type === "session.chained").length).toBeGreaterThan(1);
    expect([...problems, ...lawProblems(events)]).toEqual([]);
    const plain = await readFixture(name);
    // The release that made the recordings stored no texts of prompts.
    const known = unchained(events).filter(({ type }) => !type.startsWith("prompt."));
    expect(known.map(({ type }) => type)).toEqual(plain.map(({ type }) => type));
  });

  it("folds to the same from a snapshot at any position on, and where every event comes twice", async () => {
    const events = await readFixture(name);
    const folded = replay(events);
    const fold = (state: SessionState, more: readonly SessionEvent[]): SessionState =>
      more.reduce((before, event) => foldSession(before, event).state, state);
    await using log = await openMemoryLog();
    await log.append(SESSION, "none", events, { origin: "recorded" });
    for (const { position } of spread(events, 20, place)) {
      await saveSessionSnapshot(log, SESSION, stateAt(folded, position), nothingKept);
      const { state } = await loadSessionSnapshot(log, SESSION);
      expect(state.position).toBe(position);
      expect(allPartsOf(fold(state, events.slice(position)))).toStrictEqual(
        allPartsOf(folded.last),
      );
    }
    const twice = events.flatMap((event) => [event, event]);
    expect(allPartsOf(fold(initialSessionState, twice))).toStrictEqual(allPartsOf(folded.last));
  });

  it("shows the same at a position whether it is read there or folded up to it", async () => {
    const events = await readFixture(name);
    const folded = replay(events);
    await using log = await openMemoryLog();
    await log.append(SESSION, "none", events, { origin: "recorded" });
    for (const { position } of spread(events, 20, place)) {
      const view = await viewSession(log, SESSION, position);
      expect(view).toStrictEqual(viewOf(SESSION, stateAt(folded, position)));
    }
  });
});

it("the recordings hold every event type that the runtime records", async () => {
  const recorded = new Set<string>();
  for (const name of fixtureNames)
    for (const { type } of await readFixture(name)) recorded.add(type);
  expect(
    Object.keys(eventSchemas)
      .filter((type) => !recorded.has(type))
      .toSorted(),
  ).toEqual(unrecorded);
});
