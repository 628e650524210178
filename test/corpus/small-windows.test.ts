/**
 * The longest recorded sessions through the real runtime, in windows that are far too small for them,
 * with every answer to when and to how. Prompts are counted as the provider's tokenizer counted them.
 */

import { describe, expect, it } from "vitest";
import {
  byImportance,
  checkpoint,
  dropMiddle,
  dropOldest,
  manual,
  overflow,
  slidingWindow,
  summarize,
  threshold,
  tokens,
  type CompactionStrategy,
  type CompactionWhen,
} from "../../src/public/index.ts";
import { long, patience, sampled } from "../support/runs.ts";
import { summariser } from "../support/summarisers.ts";
import { driveSession, type Driven } from "./driven-session.ts";
import {
  longestSessions,
  sessionsAbsent,
  sessionsPresent,
  type RecordedSession,
} from "./session-corpus.ts";

const windows = [8000, 16_000, 32_000, 64_000];
const hows: readonly [string, (window: number) => CompactionStrategy][] = [
  ["summarize", (window) => summarize({ model: summariser("honest", window) })],
  ["checkpoint", () => checkpoint()],
  ["slidingWindow", () => slidingWindow()],
  ["dropMiddle", () => dropMiddle()],
  ["byImportance", () => byImportance()],
];
/** With the share of the window that a prompt may have. */
const whens: readonly [string, (window: number) => CompactionWhen, number][] = [
  ["overflow", () => overflow(), 1],
  ["threshold", () => threshold(0.6), 0.6],
  ["tokens", (window) => tokens(window / 2), 0.5],
];
/** Over a limit within the window that a prompt may be, as the provider counts. */
const LEEWAY = 1.1;
/** From so many tokens on, the newest step and the request are a small part of them. */
const ROOMY = 8000;

interface Run extends Driven {
  readonly name: string;
  readonly window: number;
  /** Whether the session has more than the window, as it was billed. */
  readonly isLong: boolean;
}

async function run(
  session: RecordedSession,
  window: number,
  when: CompactionWhen,
  how: CompactionStrategy,
): Promise<Run> {
  const driven = await driveSession(session, { window, when, how });
  const largest = Math.max(...session.messages.map(({ usage }) => usage?.input ?? 0));
  return { ...driven, name: `${session.id}, ${window}`, window, isLong: largest > window };
}

/** One session in one window for each combination, another one each time; more in a long run. */
async function runs(
  place: number,
  when: (window: number) => CompactionWhen,
  how: (window: number) => CompactionStrategy,
): Promise<readonly Run[]> {
  sessions ??= longestSessions(long ? 8 : 4);
  const turn = place + Math.floor(place / windows.length);
  const cases = sessions.flatMap((session) => windows.map((window) => [session, window] as const));
  const done: Run[] = [];
  for (const [session, window] of sampled(cases, 48, 4 * (turn % 4) + (place % 4)))
    done.push(await run(session, window, when(window), how(window)));
  return done;
}

let sessions: readonly RecordedSession[] | undefined;

function types({ events }: Driven, type: string): number {
  return events.filter((event) => event.type === type).length;
}

/** What holds of every session, whatever its agent does with its context. */
function expectWhole(run: Run): void {
  const { name, window, model, replies, strange } = run;
  expect({ name, strange }).toEqual({ name, strange: [] });
  expect(model.taken.length).toBeGreaterThanOrEqual(replies);
  expect(Math.max(...model.taken)).toBeLessThanOrEqual(window);
  // By a real tokenizer too, where it is the one of the session's model.
  const real = /gpt/.test(model.modelId) ? Math.max(...model.o200k) : 0;
  expect(real).toBeLessThanOrEqual(window);
  expect(model.counted.billed).toBeGreaterThan(model.counted.all / 2);
}

const combinations = hows.flatMap(([how, strategy]) =>
  whens.map(([when, due, share]) => [how, when, strategy, due, share] as const),
);

describe("a recorded session in a window that is too small for it", () => {
  // Each time, with three of the ways; the next test has the other ways.
  const taken = combinations.map((combination, place) => [...combination, place] as const);
  it.for(sampled(taken, 5, 2))(
    "is run to its end with %s at %s, and no prompt is longer than the window",
    { timeout: patience },
    async ([, , how, when, share, place], { skip }) => {
      skip(!sessionsPresent, sessionsAbsent);
      for (const done of await runs(place, when, how)) {
        expectWhole(done);
        const { name, window, model, overflowed, isLong } = done;
        expect({ name, refused: model.refused, overflowed }).toEqual({
          name,
          refused: [],
          overflowed: 0,
        });
        expect(types(done, "context.compacted")).toBeGreaterThanOrEqual(isLong ? 1 : 0);
        const limit = share * window;
        const most = limit < ROOMY ? window : Math.min(window, LEEWAY * limit);
        expect(Math.max(...model.taken)).toBeLessThanOrEqual(most);
        // Never a loop: far fewer than there are steps.
        const started = types(done, "context.compaction-started");
        expect(started).toBeLessThan(model.taken.length / 2);
      }
    },
  );

  it.for(sampled(hows, 2, 1))(
    "is compacted with %s where nobody does it in time, when the provider refuses a prompt",
    { timeout: patience },
    async ([, how], { skip }) => {
      skip(!sessionsPresent, sessionsAbsent);
      let refused = 0;
      for (const done of await runs(
        hows.findIndex((one) => one[1] === how),
        manual,
        how,
      )) {
        expectWhole(done);
        const { model, overflowed } = done;
        refused += model.refused.length;
        // Each refusal is mended by one compaction and one more try.
        expect({ overflowed, refused: model.refused.length }).toEqual({
          overflowed: 0,
          refused: types(done, "context.overflowed"),
        });
        expect(types(done, "context.compaction-started")).toBe(model.refused.length);
      }
      expect(refused).toBeGreaterThan(0);
    },
  );

  it.for(sampled([...whens, ["manual", manual] as const], 4))(
    "ends a turn that is longer than the window with a typed failure, where whole turns are dropped at %s, and continues with the next",
    { timeout: patience },
    async ([, when], { skip }) => {
      skip(!sessionsPresent, sessionsAbsent);
      let overflowed = 0;
      const place = whens.findIndex((one) => one[1] === when) + 1;
      for (const done of await runs(place, when, () => dropOldest({ keepTurns: 2 }))) {
        expectWhole(done);
        overflowed += done.overflowed;
        const failed = done.events.filter(
          (event) => event.type === "turn.ended" && event.data.reason === "failed",
        );
        expect(failed).toHaveLength(done.overflowed);
      }
      expect(overflowed).toBeGreaterThan(0);
    },
  );
});
