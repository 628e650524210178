/**
 * What is recorded happens again: sessions of random commands, crashes among them, and forks of them,
 * each replayed against the agent that was recorded, and so their fixtures.
 */

import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, it } from "vitest";
import type { EventLog, RecoveryPolicy, SessionEvent } from "../../src/events/index.ts";
import { createRuntime, exportFixture, readSessionFile } from "../../src/public/index.ts";
import { differenceText, replay } from "../../src/replay/index.ts";
import { storedEvents } from "../support/replay.ts";
import { patience, runs } from "../support/runs.ts";
import type { Known } from "./command.ts";
import { anyCommand } from "./commands.ts";
import { goOnToTheEnd } from "./finale.ts";
import { time } from "./held-time.ts";
import { loadAll } from "./load-all.ts";
import { SESSION } from "./process.ts";
import { plainAgent, replayedAgent } from "./replayed-agent.ts";
import { beginning } from "./situation.ts";
import { Stage, type StageSettings } from "./stage.ts";
import { worlds } from "./worlds.ts";

/** A fork of one of the sessions that there are, at one of its positions. */
interface Branch {
  readonly of: number;
  readonly place: number;
  readonly recovery: RecoveryPolicy;
}

const branches: fc.Arbitrary<Branch[]> = fc.array(
  fc.record({
    of: fc.nat(),
    place: fc.nat(),
    recovery: fc.constantFrom<RecoveryPolicy[]>("stop", "continue"),
  }),
  { maxLength: 3 },
);

/** Makes the forks, has each go on for a turn, and answers what all sessions are called. */
async function branchOff(
  log: EventLog,
  world: StageSettings,
  wanted: readonly Branch[],
): Promise<readonly string[]> {
  const names: string[] = [SESSION];
  for (const { of, place, recovery } of wanted) {
    const parent = names[of % names.length] ?? SESSION;
    const open = (await storedEvents(log, parent)).filter(({ type }) => type !== "session.closed");
    const id = `${SESSION}-${names.length}`;
    const agent = plainAgent(world);
    await using runtime = await createRuntime({
      log,
      agent,
      recovery,
      stepSource: world.stepSource,
    });
    const session = await runtime.session(parent);
    const fork = await session.fork({ id, position: 1 + (place % open.length) });
    await fork.atRest();
    // Nobody answers what it asks.
    await fork.cancel();
    const turn = await fork.send("Where are we?");
    await turn.result;
    names.push(id);
  }
  return names;
}

async function expectReplay(world: StageSettings, events: readonly SessionEvent[]): Promise<void> {
  const { difference } = await replay(events, replayedAgent(world, events));
  if (difference === undefined) return;
  const story = events.map(
    ({ position, type, data }) => `${position} ${type} ${JSON.stringify(data).slice(0, 120)}`,
  );
  throw new Error([differenceText(difference), "", ...story].join("\n"));
}

beforeAll(loadAll);

describe.each(worlds)("With $toolConcurrency tools at a time, by $stepSource", (world) => {
  beforeEach(() => time.hold());
  afterEach(() => time.release());

  it(
    "whatever is done and wherever it dies, a session, its forks and their fixtures happen again",
    { timeout: patience },
    async () => {
      const sequences = fc.commands([anyCommand], { maxCommands: 60, size: "max" });
      await fc.assert(
        fc.asyncProperty(sequences, branches, async (sequence, wanted) => {
          const stage = await Stage.open(world);
          const known: Known = { world, situation: beginning };
          await fc.asyncModelRun(() => ({ model: known, real: stage }), sequence);
          await goOnToTheEnd(stage);
          const { log } = stage.store;
          time.release();
          try {
            for (const name of await branchOff(log, world, wanted)) {
              await expectReplay(world, await storedEvents(log, name));
              const { events } = await readSessionFile(await exportFixture(log, name));
              await expectReplay(world, events);
            }
          } finally {
            time.hold();
          }
        }),
        runs(2, 4),
      );
    },
  );
});
