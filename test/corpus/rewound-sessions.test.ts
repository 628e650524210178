/** Recorded sessions, played through the runtime and rewound: what law 12 says of each, live and after a restart. */

import { expect, it } from "vitest";
import {
  createRuntime,
  openMemoryLog,
  slidingWindow,
  threshold,
  verifySession,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { patience, sampled, times } from "../support/runs.ts";
import { tryRewinds } from "../support/rewind-problems.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { driveSession } from "./driven-session.ts";
import { recordedSessions, sessionsPresent } from "./session-corpus.ts";
import { modelOf } from "./session-replay.ts";

/** One in so many; more in a long run, and to more boundaries. */
const ONE_IN = 30;

const recorded = sessionsPresent ? recordedSessions() : [];

describeWithCorpus("a recorded session, played through the runtime", () => {
  it.each(sampled(recorded, ONE_IN))(
    "is rewound to its turns and returns: $file $id",
    async (session) => {
      // Small enough for compactions, prunings and cuts.
      const window = 32_000;
      const how = { window, when: threshold(0.6), how: slidingWindow() };
      const { events } = await driveSession(session, how);
      const { tried, problems } = tryRewinds(events, { most: times(6) });
      expect(problems).toEqual([]);
      expect(tried).toBeGreaterThan(1);

      await using log = await openMemoryLog();
      await log.append("s", "none", events, { origin: "recorded" });
      const model = { ...scriptedModel(["Otherwise."]), ...modelOf(session) };
      const turns = [
        ...new Set(
          events.flatMap(({ type, data }) => (type === "turn.started" ? [data.turn] : [])),
        ),
      ];
      const middle = turns[Math.floor(turns.length / 2)] ?? 1;
      const prompts: string[] = [];
      {
        await using runtime = await createRuntime({ log, agent: { model } });
        const live = await runtime.session("s");
        prompts.push(JSON.stringify((await live.view()).prompt.messages));
        const { to } = await live.rewind({ beforeTurn: middle });
        expect((await live.view()).prompt.messages).toEqual((await live.at(to)).prompt.messages);
        await (
          await live.send("And otherwise?")
        ).result;
      }
      await using runtime = await createRuntime({ log, agent: { model } });
      const again = await runtime.session("s");
      await again.checkout(1);
      expect(JSON.stringify((await again.view()).prompt.messages)).toBe(prompts[0]);
      expect((await verifySession(log, "s")).problems).toEqual([]);
    },
    patience,
  );
});
