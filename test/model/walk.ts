/** Walks a path of moves on a real session and compares at every step; then lets it go on to its end. */

import type { Random } from "../support/random.ts";
import { provoke } from "./acts.ts";
import { goOnToTheEnd } from "./finale.ts";
import { play, type Move } from "./moves.ts";
import { isAtRest } from "./possible-moves.ts";
import { beginning } from "./situation.ts";
import { Stage, type StageSettings } from "./stage.ts";
import { isForeign } from "./unrecorded.ts";

export async function walk(
  path: readonly Move[],
  world: StageSettings,
  random: Random,
): Promise<void> {
  const expected = path.reduce(
    (situations, move) => [...situations, play(situations.at(-1) ?? beginning, move, world)],
    [beginning],
  );
  /** How many events the process that begins at a step of the path records before it dies. */
  const lifetime = (from: number): number => {
    const death = path.findIndex((_, step) => step > from && isDeath(step));
    return death === -1 ? Number.POSITIVE_INFINITY : death - from;
  };
  const isDeath = (step: number): boolean => {
    const [move, situation] = [path[step], expected[step]];
    if (move === undefined || situation === undefined) return false;
    return move.type === "session.recovered" || isForeign(move, situation);
  };

  const stage = await Stage.open(world, lifetime(0));
  for (const [step, move] of path.entries()) {
    const situation = expected[step] ?? beginning;
    if (isForeign(move, situation)) {
      await stage.until("the process dies", () => !stage.isAlive);
      await stage.write(move);
    } else if (move.type === "session.recovered") {
      await stage.until("the process dies", () => !stage.isAlive);
      await stage.start(move.policy, lifetime(step));
    } else if (stage.isAlive) {
      await stage.rest();
      if (stage.situations.length === step + 1) {
        if (isAtRest(situation) && random.chance(0.3)) {
          // Opening a session at rest changes and records nothing.
          stage.process.log.kill();
          await stage.start(random.pick(["stop", "continue"]), lifetime(step));
          await stage.rest();
        }
        const gainful = path
          .slice(step + 1, step + 3)
          .some(({ type }) => type === "context.compacted");
        provoke(stage, move, { gainful, abrupt: random.chance(0.5) });
      }
    }
    await stage.until(move.type, () => stage.situations.length > step + 1);
    stage.compare(step + 1, expected[step + 1] ?? beginning);
  }
  await goOnToTheEnd(stage);
}
