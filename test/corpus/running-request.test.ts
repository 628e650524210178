/**
 * The recorded sessions in windows that are too small for them: whatever a strategy leaves out, the model sees
 * what it was asked, also after a turn that failed and a user who only says `Go on.`
 */

import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import {
  byImportance,
  checkpoint,
  dropMiddle,
  dropOldest,
  overflow,
  slidingWindow,
  summarize,
  type CompactionStrategy,
} from "../../src/public/index.ts";
import { long, patience, sampled } from "../support/runs.ts";
import { summariser } from "../support/summarisers.ts";
import { driveSession } from "./driven-session.ts";
import type { RecordedModel } from "./recorded-model.ts";
import { lostRequests, type Lost } from "./running-requests.ts";
import {
  recordedSessions,
  sessionsAbsent,
  sessionsPresent,
  type RecordedSession,
} from "./session-corpus.ts";

const windows = [4000, 8000, 32_000];
const hows: readonly [string, (window: number) => CompactionStrategy][] = [
  ["summarize", (window) => summarize({ model: summariser("honest", window) })],
  ["checkpoint", () => checkpoint()],
  ["slidingWindow", () => slidingWindow()],
  ["dropMiddle", () => dropMiddle()],
  ["byImportance", () => byImportance()],
];
/** A call in so many fails, and its turn with it. */
const FAILING = 7;
/** Of the sessions, one in so many is run in `npm test`, another one with each strategy. */
const SHARE = 66;

type Calls = RecordedModel["calls"][number][];

/** The recorded model; with failures, it takes no key now and then. */
function asked(recorded: RecordedModel, calls: Calls, isFailing: boolean): LanguageModelV4 {
  return {
    ...recorded,
    doStream: async (options) => {
      if (calls.push(options) % FAILING !== 0 || !isFailing) return recorded.doStream(options);
      throw new APICallError({
        message: "Unauthorized",
        url: "https://models.example",
        requestBodyValues: {},
        statusCode: 401,
      });
    },
  };
}

async function run(
  session: RecordedSession,
  window: number,
  how: CompactionStrategy,
  isFailing: boolean,
): Promise<Lost> {
  const calls: Calls = [];
  const { events } = await driveSession(session, {
    window,
    when: overflow(),
    how,
    model: (recorded) => asked(recorded, calls, isFailing),
  });
  return lostRequests(events, calls, window);
}

let sessions: readonly RecordedSession[] | undefined;

async function total(
  window: number,
  how: (window: number) => CompactionStrategy,
  isFailing: boolean,
  place: number,
): Promise<Lost> {
  sessions ??= recordedSessions();
  const sum = { prompts: 0, fitting: 0, lost: 0, crowded: 0 };
  for (const session of long ? sessions : sampled(sessions, SHARE, place)) {
    const found = await run(session, window, how(window), isFailing);
    for (const key of ["prompts", "fitting", "lost", "crowded"] as const) sum[key] += found[key];
  }
  return sum;
}

const cases = hows.flatMap(([name, how], place) =>
  windows.flatMap((window) =>
    [false, true].map((isFailing) => ({ name, how, window, isFailing, place })),
  ),
);

describe("the running request of a recorded session", () => {
  it.for(long ? cases : sampled(cases, 5, 1))(
    "is in every prompt with $name in a window of $window, with failures: $isFailing",
    { timeout: patience },
    async ({ how, window, isFailing, place }, { skip }) => {
      skip(!sessionsPresent, sessionsAbsent);
      const { fitting, lost, crowded } = await total(window, how, isFailing, place);
      expect(fitting).toBeGreaterThan(0);
      // In the smallest of windows, where it has no place beside the newest step, or hardly any.
      const most = window > 4000 ? 0 : crowded + Math.ceil(fitting / 1000);
      expect(lost).toBeLessThanOrEqual(most);
      expect(lost).toBeLessThanOrEqual(Math.ceil(fitting / 100));
    },
  );

  it(
    "is lost where whole turns are dropped and a later one continues with it: that is what was asked for",
    { timeout: patience },
    async ({ skip }) => {
      skip(!sessionsPresent, sessionsAbsent);
      const { lost } = await total(8000, () => dropOldest({ keepTurns: 2 }), true, 0);
      expect(lost).toBeGreaterThan(0);
    },
  );
});
