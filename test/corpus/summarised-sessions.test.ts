/** The longest recorded sessions with summaries by models that are honest, and by those that are not. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { overflow, summarize } from "../../src/public/index.ts";
import { long, patience, sampled } from "../support/runs.ts";
import { badSummarisers, summariser } from "../support/summarisers.ts";
import { driveSession, type Driven } from "./driven-session.ts";
import { longestSessions, sessionsAbsent, sessionsPresent } from "./session-corpus.ts";

const facts = ["FACT-1 holds.", "FACT-2 holds as well.", "So does FACT-3."];

function compacted({ events }: Driven): readonly EventBody<"context.compacted">["data"][] {
  return events.flatMap((event) => (event.type === "context.compacted" ? [event.data] : []));
}

/** Every reply was given, and no prompt was ever too long. */
function expectWhole({ model, replies, overflowed, strange }: Driven, window: number): void {
  expect({ strange, refused: model.refused, overflowed }).toEqual({
    strange: [],
    refused: [],
    overflowed: 0,
  });
  expect(model.taken.length).toBeGreaterThanOrEqual(replies);
  expect(Math.max(...model.taken)).toBeLessThanOrEqual(window);
}

describe("a recorded session whose summaries are written by a model", () => {
  // A summariser whose window is half as large is shown less than all of what it is to summarise.
  it.for([
    [8000, 4000],
    ...(long
      ? ([
          [8000, 8000],
          [16_000, 16_000],
          [16_000, 8000],
          [32_000, 32_000],
        ] as const)
      : []),
  ] as const)(
    "still has what was said in the first turns after the fifth compaction, in a window of %d tokens, with a summariser of %d that is honest",
    { timeout: patience },
    async ([window, itsWindow], { skip }) => {
      skip(!sessionsPresent, sessionsAbsent);
      let later = 0;
      for (const session of long ? sampled(longestSessions(8), 8) : longestSessions(1)) {
        const how = summarize({ model: summariser("honest", itsWindow) });
        const driven = await driveSession(session, { window, when: overflow(), how, facts });
        expectWhole(driven, window);
        const turns = driven.events.filter(({ type }) => type === "turn.started").length;
        const said = facts.slice(0, turns).flatMap((fact) => fact.match(/FACT-\d/g) ?? []);
        for (const { summary, rung } of compacted(driven).slice(4)) {
          later += 1;
          expect(rung).not.toBe("digest");
          for (const fact of said) expect(summary).toContain(fact);
        }
      }
      expect(later).toBeGreaterThan(3);
    },
  );

  it.for(sampled(badSummarisers, 2))(
    "keeps every promise with one that is %s: digests without a model take the place of its words",
    { timeout: patience },
    async (kind, { skip }) => {
      skip(!sessionsPresent, sessionsAbsent);
      let digests = 0;
      const place = badSummarisers.indexOf(kind);
      const cases = longestSessions(long ? 8 : 4).flatMap((session) =>
        [8000, 16_000, 32_000].map((window) => [session, window] as const),
      );
      for (const [session, window] of sampled(cases, 12, 3 + 3 * (place % 3))) {
        const how = summarize({ model: summariser(kind, window) });
        const driven = await driveSession(session, { window, when: overflow(), how });
        expectWhole(driven, window);
        const made = compacted(driven);
        expect(made.filter(({ rung }) => rung !== "digest")).toEqual([]);
        digests += made.length;
      }
      expect(digests).toBeGreaterThan(5);
    },
  );
});
