/** CPU of a node for a turn of 200 deltas that come one by one: on LevelDB, in the database, and beside a second node. */

import { setTimeout } from "node:timers/promises";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { inFolder } from "../folder.ts";
import { median } from "../statistics.ts";
import { startFollower } from "./followers.ts";

const DELTAS = 200;
const DELTA_MS = 2;

export interface Turns {
  /** Milliseconds of CPU for a turn, the median. */
  readonly levelMs: number;
  readonly oneNodeMs: number;
  readonly twoNodesMs: number;
}

/** A gate that opens by itself. */
const pause: { readonly type: "gate"; readonly until: PromiseLike<void> } = {
  type: "gate",
  until: {
    // oxlint-disable-next-line unicorn/no-thenable
    then: (...then) => setTimeout(DELTA_MS).then(...then),
  },
};

const step = (): ScriptedStep => ({
  parts: [
    {
      type: "text",
      deltas: Array.from({ length: DELTAS }, (_, index) => [pause, `word ${index} `]).flat(),
    },
  ],
});

export async function measureTurns(
  connectionString: string,
  followerProgram: string,
  turns: number,
): Promise<Turns> {
  const agent = { model: scriptedModel(step) };
  const schema = "turns";
  return await inFolder(async (dir) => {
    await using level = await createRuntime({ dir, durability: "sync", agent });
    await using log = await openPostgresLog({ connectionString, schema });
    await using database = await createRuntime({ log, agent });
    const figures = { level: [] as number[], one: [] as number[], two: [] as number[] };
    for (let turn = -2; turn < turns; turn++) {
      const levelMs = await cpuOfTurn(level);
      const oneMs = await cpuOfTurn(database);
      const follower = await startFollower({ program: followerProgram, connectionString, schema });
      const twoMs = await cpuOfTurn(database);
      await follower.end();
      // The first ones compile the code.
      if (turn < 0) continue;
      figures.level.push(levelMs);
      figures.one.push(oneMs);
      figures.two.push(twoMs);
    }
    return {
      levelMs: median(figures.level),
      oneNodeMs: median(figures.one),
      twoNodesMs: median(figures.two),
    };
  });
}

async function cpuOfTurn(runtime: Runtime): Promise<number> {
  const session = await runtime.session();
  const before = process.cpuUsage();
  await (
    await session.send("Go")
  ).result;
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
