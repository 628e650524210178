/** Recorded sessions, played through the runtime: law 13 for each of their turns. */

import { expect, it } from "vitest";
import { overflow, summarize } from "../../src/public/index.ts";
import { patience, sampled } from "../support/runs.ts";
import { expectLaw as expectLawOfAgUi } from "../ag-ui/law-13.ts";
import { expectLaw } from "../ui/law-13.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { driveSession } from "./driven-session.ts";
import { recordedSessions, sessionsPresent } from "./session-corpus.ts";

describeWithCorpus("a recorded session, as a page shows it", () => {
  it.each(sampled(sessionsPresent ? recordedSessions() : [], 25))(
    "is streamed as it is folded: $file $id",
    async (session) => {
      const how = { window: 400_000, when: overflow(), how: summarize() };
      const { events } = await driveSession(session, how);
      expect(await expectLaw(events)).toBeGreaterThan(5);
      expect(await expectLawOfAgUi(events)).toBeGreaterThan(5);
    },
    patience,
  );
});
