/** Recorded sessions, played through the runtime: live equals replayed, and every prompt can be made again. */

import { expect, it } from "vitest";
import { openMemoryLog, overflow, summarize, verifySession } from "../../src/public/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { patience, sampled, times } from "../support/runs.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { driveSession } from "./driven-session.ts";
import { recordedSessions, sessionsPresent } from "./session-corpus.ts";

/** One in so many; more in a long run, and at more positions. */
const ONE_IN = 10;
/** At how many positions the state is kept, loaded again and folded on from. */
const POSITIONS = 40;

const recorded = sessionsPresent ? recordedSessions() : [];

describeWithCorpus("a recorded session, played through the runtime", () => {
  it.each(sampled(recorded, ONE_IN))(
    "keeps every law, its states and its prompts: $file $id",
    async (session) => {
      const how = { window: 400_000, when: overflow(), how: summarize() };
      const { events, strange } = await driveSession(session, how);
      expect(strange).toEqual([]);
      expect(lawProblems(events)).toEqual([]);
      await using log = await openMemoryLog();
      await log.append("s", "none", events);
      const every = Math.ceil(events.length / times(POSITIONS, 16));
      const { problems, prompts } = await verifySession(log, "s", { every });
      expect(problems).toEqual([]);
      expect(prompts).toBe(events.filter(({ type }) => type === "step.started").length);
    },
    patience,
  );
});
