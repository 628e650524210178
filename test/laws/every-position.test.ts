/**
 * A process may die after any event. Here it does, after every single one of the recorded sessions:
 * each session is opened on a beginning of its log, and continues from there: on those that end where one
 * type of event follows another for the first time in any session, and on a sample of the rest.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool, type ToolSet } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../../src/events/index.ts";
import { createRuntime, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { improvisedModel } from "../support/improvised-model.ts";
import { reopeningProblems } from "../support/reopening.ts";
import { patience, sampled } from "../support/runs.ts";
import { workshop, workTools } from "../support/workshop.ts";
import { fixtureNames, readFixture, type FixtureName } from "./session-fixture.ts";
import { SESSION } from "./stage.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-positions-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Has the tools that the recorded sessions called, so that a call which was not started can be run. */
function agent(): Agent {
  const recorded: ToolSet = Object.fromEntries(
    ["weather", "map", "train", "book", "quick", "deaf", "lookUp"].map((name) => [
      name,
      tool({ inputSchema: z.unknown(), execute: () => `${name} was run` }),
    ]),
  );
  return {
    model: improvisedModel({ tools: workTools, rounds: 1 }),
    tools: { ...recorded, ...workshop({ file: join(folder, "works") }) },
  };
}

/** Which two types of events follow each other, with the place at which they did so first. */
const firstFollowed = new Map<string, string>();

/** The positions at which a session ends; another half of them by each policy. */
function endsOf(
  name: FixtureName,
  events: readonly SessionEvent[],
  half: number,
): readonly number[] {
  const drawn = sampled(events, 120, 61 * half);
  return events.flatMap((event, index) => {
    if (event.type === "session.closed") return [];
    const pair = `${event.type} ${events[index + 1]?.type ?? "the end"}`;
    const place = `${name} ${event.position}`;
    if (!firstFollowed.has(pair)) firstFollowed.set(pair, place);
    const isFirst = firstFollowed.get(pair) === place && index % 2 === half;
    return isFirst || drawn.includes(event) ? [event.position] : [];
  });
}

const policies = ["stop", "continue"] as const;
const sessions = fixtureNames.map((name, place) => [name, place] as const);

// In `npm test` every other session by each policy.
describe.each(sessions)("the session %s, cut off", (name, place) => {
  it.each(sampled(policies, 1, place))(
    "continues by every law from any position at all, by policy %s",
    async (recovery) => {
      const events = await readFixture(name);
      const taken = endsOf(name, events, recovery === "stop" ? 0 : 1);
      expect(taken.length).toBeGreaterThan(1);
      for (const position of taken) {
        await using log = await openMemoryLog();
        await log.append(SESSION, "none", events.slice(0, position), { origin: "recorded" });
        const problems = await reopeningProblems({
          log,
          session: SESSION,
          recovery,
          agent: agent(),
        });
        expect({ position, problems }).toEqual({ position, problems: [] });
      }
    },
    patience,
  );
});

it("a session that was closed stays closed", async () => {
  await using log = await openMemoryLog();
  await log.append(SESSION, "none", await readFixture("long-talk"), { origin: "recorded" });
  await using runtime = await createRuntime({ log, agent: agent() });
  const session = await runtime.session(SESSION);
  await expect(session.send("Hello?")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  expect((await session.view()).position).toBe((await readFixture("long-talk")).length);
});
