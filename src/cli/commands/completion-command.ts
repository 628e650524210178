/** `turnlog completion`: prints the script for a shell. After `--` it answers the script: the words that fit. */

import { textStart } from "../../events/index.ts";
import { homedir } from "node:os";
import type { Command } from "commander";
import { visibleName, writeLines, type Output } from "../output/index.ts";
import { dateAndTime } from "../wording/index.ts";
import { FILES, fittingWords, shellWords, type Fitting } from "./completion-words.ts";
import { scripts, type Shell } from "./completion-scripts.ts";
import { newestSessions } from "./sessions-command.ts";

/** `typed`: the words up to the cursor; from bash the line as it was typed. */
export async function completion(
  shell: Shell,
  typed: readonly string[],
  program: Command,
  { data }: Output,
): Promise<void> {
  if (typed.length === 0) return await writeLines(data, [scripts[shell]]);
  const words = shell === "bash" ? shellWords(typed.join(" ")).slice(1) : typed;
  const own = program.opts<{
    readonly dir: string;
    readonly keys?: string;
    readonly postgres?: string;
  }>();
  const found = await fittingWords(program, words, async (given) => {
    const unlessFolder = given.has("dir") ? undefined : own.postgres;
    const postgres = given.get("postgres") ?? unlessFolder;
    return await sessionsIn(
      given.get("dir") ?? own.dir,
      postgres === undefined || postgres === "" ? undefined : postgres,
      given.get("keys") ?? own.keys,
    );
  });
  const lines = found === FILES ? ["\t"] : found.map(({ word, about }) => `${word}\t${about}`);
  await writeLines(data, lines);
}

/** None if the store cannot be read: an error has no place on a line that is being typed. */
async function sessionsIn(
  dir: string,
  postgres: string | undefined,
  keys: string | undefined,
): Promise<readonly Fitting[]> {
  try {
    const found = await newestSessions({
      dir: atHome(dir),
      database: postgres === undefined ? undefined : { connectionString: postgres, migrate: false },
      keys: keys === undefined ? undefined : atHome(keys),
      takeOver: false,
    });
    return found.map(({ session, updatedAt, title }) => ({
      word: session,
      about: textStart(visibleName(`${dateAndTime(updatedAt)}  ${title}`), 80),
    }));
  } catch {
    return [];
  }
}

/** The shell has not expanded the words yet. */
function atHome(path: string): string {
  return path.replace(/^~(?=\/|$)/, homedir());
}
