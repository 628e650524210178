/** A session that was thinned still happens again as it was recorded, as far as its log tells. */

import { isDeepStrictEqual } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import { forkSession } from "../../src/archive/index.ts";
import { trimLog, openMemoryLog } from "../../src/public/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { agentOf } from "../laws/recorded-scripts.ts";
import { fixtureNames, readFixture, type FixtureName } from "../laws/session-fixture.ts";
import { SESSION } from "../laws/stage.ts";

async function thinnedFixture(
  name: FixtureName,
  drop: "boundaries" | "reasoning",
): Promise<readonly SessionEvent[]> {
  await using log = await openMemoryLog();
  await log.append(SESSION, "none", await readFixture(name));
  await trimLog(log, SESSION, { drop, keepSteps: 0, shown: true, now: 1 });
  return await Array.fromAsync(log.read(SESSION));
}

/** Who waits in real time waits for ever. */
function withoutTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}

describe.each(fixtureNames)("the session %s", (name) => {
  it.each(["boundaries", "reasoning"] as const)("happens again without %s", async (drop) => {
    withoutTime();
    const events = await thinnedFixture(name, drop);
    const { difference } = await replay(events, await agentOf(name));
    expect(difference && differenceText(difference)).toBeUndefined();
  });
});

it("a changed agent is found in a session without reasoning, and where", async () => {
  withoutTime();
  const events = await thinnedFixture("reasoning", "reasoning");
  const called = events.find(({ type }) => type === "tool.started");
  const altered = events.map((event) =>
    event === called ? ({ ...event, data: { ...event.data, other: 1 } } as SessionEvent) : event,
  );
  const { difference } = await replay(altered, await agentOf("reasoning"));
  expect(difference?.position).toBe(called?.position);
});

describe.each(["tools", "reasoning"] as const)("a fork of the session %s", (name) => {
  it.each(["boundaries", "reasoning"] as const)(
    "happens again where what it shares was thinned of its %s, of which it has no word",
    async (drop) => {
      withoutTime();
      await using log = await openMemoryLog();
      const recorded = await readFixture(name);
      await log.append(SESSION, "none", recorded);
      await trimLog(log, SESSION, { drop, keepSteps: 0, shown: true, now: 1 });
      await forkSession(log, SESSION, { as: "fork", position: recorded.length, now: 1 });
      const events = await Array.fromAsync(log.read("fork"));
      expect(events.some(({ type }) => type === "session.thinned")).toBe(false);
      expect(isDeepStrictEqual(events.slice(0, -1), recorded)).toBe(false);
      const { difference } = await replay(events, await agentOf(name));
      expect(difference && differenceText(difference)).toBeUndefined();
    },
  );
});
