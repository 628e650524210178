/** Model-based tests: paths that take every transition of the machine, walked on real sessions. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../support/random.ts";
import { all, someOfEach, stepOf } from "../support/runs.ts";
import { everyStateAndEvent, everyTransition, leafOf } from "./chart-coverage.ts";
import { time } from "./held-time.ts";
import { loadAll } from "./load-all.ts";
import type { Move } from "./moves.ts";
import { kindOf, movesOf, pathsThrough } from "./paths.ts";
import type { Bounds } from "./possible-moves.ts";
import type { StageSettings } from "./stage.ts";
import { foreignEvents, unheardEvents, untakenTransitions } from "./unrecorded.ts";
import { walk } from "./walk.ts";

/**
 * Two tools at a time and all kinds of calls; one at a time, so that calls have to wait for a place;
 * what may be run again after a crash, with answers for good, prepared steps and outputs; and messages for later.
 * `npm test` has two steps or two calls where all tests have both, which takes every transition too.
 */
const settings: readonly (StageSettings & Bounds)[] = [
  {
    maxSteps: all ? 2 : 1,
    maxAttempts: 2,
    toolConcurrency: 2,
    lastStep: true,
    prepares: false,
    output: false,
    stepSource: "language-model-call",
    kinds: ["plain", "guarded", "missing"],
    callsInStep: 2,
    waitingMessages: 1,
    laterMessages: 0,
    always: false,
  },
  {
    maxSteps: 2,
    maxAttempts: 1,
    toolConcurrency: 1,
    lastStep: false,
    prepares: false,
    output: false,
    stepSource: "stream-text",
    kinds: ["plain", "guarded", "remote"],
    callsInStep: all ? 2 : 1,
    waitingMessages: 1,
    laterMessages: 0,
    always: false,
  },
  {
    maxSteps: 1,
    maxAttempts: 1,
    toolConcurrency: 1,
    lastStep: false,
    prepares: true,
    output: true,
    stepSource: "language-model-call",
    kinds: ["repeatable", "doubtful"],
    callsInStep: 2,
    waitingMessages: 1,
    laterMessages: 0,
    always: true,
  },
  {
    maxSteps: 1,
    maxAttempts: 2,
    toolConcurrency: 1,
    lastStep: false,
    prepares: false,
    output: false,
    stepSource: "language-model-call",
    kinds: ["guarded"],
    callsInStep: 1,
    waitingMessages: 1,
    laterMessages: 1,
    always: false,
  },
];

beforeAll(async () => {
  await loadAll();
  time.hold();
});
afterAll(() => time.release());

const [transitions, heard] = [new Set<string>(), new Set<string>()];

describe.each(settings)(
  "With $toolConcurrency tools at a time and $laterMessages messages for later, by $stepSource",
  (setting) => {
    const paths = pathsThrough(setting, setting);
    const kinds = someOfEach(paths, kindOf, 1);
    const step = stepOf(32);
    // Those that say or take what none before them does, and one of 32 others.
    const walked = kinds.filter((path, index) => {
      const before = heard.size + transitions.size;
      for (const { move, last, event, taken } of movesOf(path)) {
        const pair = `${leafOf(last.machine)} ${event.type}`;
        heard.add(pair);
        if ("later" in move) heard.add(`${pair} for later`);
        for (const transition of taken) transitions.add(transition);
      }
      return heard.size + transitions.size > before || index % step === 0;
    });

    const stories = walked.map((path) => movesOf(path).map(({ move }) => move));

    it.each(stories.map((moves, place) => [place + 1, storyOf(moves), moves] as const))(
      `path %i of ${walked.length} goes as the machine says: %s`,
      async (place, _, moves) => {
        const walking = walk(moves, setting, seededRandom(`path ${place}`));
        await expect(walking).resolves.toBeUndefined();
      },
    );
  },
);

describe("All paths together", () => {
  it("take every transition that the chart has, but for those that are listed with a reason", () => {
    const missing = everyTransition.filter((transition) => !transitions.has(transition));
    expect(missing).toEqual(Object.keys(untakenTransitions));
  });

  it("say every event in every state that hears it, but for those that are listed with a reason", () => {
    const missing = everyStateAndEvent.filter((pair) => !heard.has(pair));
    expect(missing.toSorted()).toEqual(Object.keys(unheardEvents).toSorted());
  });

  it("say the events that only another release may have recorded", () => {
    expect(Object.keys(foreignEvents).filter((pair) => !heard.has(pair))).toEqual([]);
  });
});

/** The last moves of a path, for its name. */
function storyOf(moves: readonly Move[]): string {
  return moves
    .slice(-3)
    .map(({ type, ...rest }) => [type, ...Object.values(rest)].join(" "))
    .join(", ");
}
