/** A candidate that does what the recording did: no difference, and no miss. */

import { describe, expect, it } from "vitest";
import { laneOf, pair } from "../../src/compare/index.ts";
import { replayModel } from "../../src/models/index.ts";
import { tryCandidate, type ReplayedAgent } from "../../src/replay/index.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { agentOf } from "../laws/recorded-scripts.ts";
import { sampled } from "../support/runs.ts";

describe.each(sampled(fixtureNames, 1))("the session %s", (name) => {
  it("is repeated by a candidate whose model answers the same", async () => {
    const events = await readFixture(name);
    const given = await agentOf(name);
    const model = replayModel(events);
    const agent: ReplayedAgent = (recorded) => ({
      ...(typeof given === "function" ? given(recorded) : given),
      model,
    });
    const misses: string[] = [];
    const tried = await tryCandidate(events, agent, {
      onMiss: async ({ toolName }) => {
        misses.push(toolName);
        return undefined;
      },
      onCall: () => undefined,
    });
    expect(tried.stopped).toBeUndefined();
    expect(misses).toEqual([]);
    const found = pair(laneOf(name, events), laneOf(name, tried.events));
    expect(found.first).toBeUndefined();
  });
});
