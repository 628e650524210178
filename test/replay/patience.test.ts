/** How long a replay waits for what is due: a process that gets no time is not taken for an agent that does nothing. */

import { beforeAll, describe, expect, it } from "vitest";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { patience } from "../support/runs.ts";
import { agentOf } from "../laws/recorded-scripts.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";

// What a replay loads comes from the disk, in real time.
beforeAll(async () => {
  await replay(await readFixture("tools"), await agentOf("tools"), { patienceMs: patience });
});

describe.each(fixtureNames)("the session %s", (name) => {
  it("happens again though all patience is over before the process gets time", async () => {
    const events = await readFixture(name);
    const { difference } = await replay(events, await agentOf(name), { patienceMs: 1 });
    expect(difference && differenceText(difference)).toBeUndefined();
  });
});
