/**
 * What a fast-check command on a session is. The machine is the oracle: it says which commands make
 * sense, every event is checked against it as it is recorded (`Stage`), and after each command the
 * live session must be where the fold of its log is.
 */

import type fc from "fast-check";
import type { Situation, World } from "./situation.ts";
import type { Stage } from "./stage.ts";

/** What is known of the session: what its log says. */
export interface Known {
  readonly world: World;
  situation: Situation;
}

export type Command = fc.AsyncCommand<Known, Stage>;

/** Wraps what a command does with what is true after every command. */
export function command(
  name: string,
  check: (known: Known) => boolean,
  act: (stage: Stage, known: Known) => Promise<string | void>,
): Command {
  let told = name;
  return {
    check,
    run: async (known, stage) => {
      told = (await act(stage, known)) ?? name;
      await stage.rest();
      // Only a cancel may take its time: it waits for tools that are told to stop.
      const { asked } = stage.process;
      const pending = (): readonly string[] =>
        [...asked].filter((what) => !what.startsWith("cancel"));
      await stage.until(
        `answers to ${pending().join(", ")}`,
        () => pending().length === 0 || !stage.isAlive,
      );
      if (!stage.isAlive) await reopen(stage);
      known.situation = stage.situation;
    },
    toString: () => told,
  };
}

/** Opens the session in a new process and lets it come to rest. */
export async function reopen(stage: Stage): Promise<void> {
  await stage.start(stage.nextPolicy);
  await stage.rest();
}
