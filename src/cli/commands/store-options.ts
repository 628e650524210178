/** Chooses the store of a command: a folder, or the database of `--postgres`. No command looks at those options itself. */

import type { Command } from "commander";
import { UsageError } from "../output/error-report.ts";

/** Commands about the files of a store, and the way of a database. */
const ofFolders: Readonly<Record<string, string>> = {
  backup: "copy the database with `pg_dump`",
  repair: "restore the database from a copy that `pg_dump` made; `turnlog verify` checks it",
  "rotate-keys": "call `keys.rotate(log)` in a program with the log of `openPostgresLog`",
};

/** Commands without one store. */
const ofNone: ReadonlySet<string> = new Set(["completion", "help", "copy"]);

/**
 * Sets the option `database` if the command works on one. A folder that the command line names comes before
 * the database that the environment names.
 * @throws UsageError for options that would have no effect
 */
export function chooseStore(program: Command, acting: Command): void {
  const { postgres = "", migrate } = program.opts<{
    readonly postgres?: string;
    readonly migrate: boolean;
  }>();
  const isTyped = (name: string, command = program): boolean =>
    command.getOptionValueSource(name) === "cli";
  if (acting.name() === "copy") {
    const idle = (["dir", "postgres", "keys"] as const).filter((name) => isTyped(name));
    if (idle.length > 0)
      throw new UsageError(
        `${idle.map((name) => `--${name}`).join(" and ")}: \`turnlog copy\` names its stores by --from and --to, and copies encrypted sessions as they are stored.`,
      );
  }
  const isGiven = postgres.trim() !== "" && (isTyped("postgres") || !isTyped("dir"));
  if (!isGiven || ofNone.has(acting.name())) {
    if (!migrate && acting.name() !== "copy")
      throw new UsageError("--no-migrate is for a database: add --postgres, or leave it out.");
    return;
  }
  const own = ofFolders[acting.name()];
  if (own !== undefined)
    throw new UsageError(
      `\`turnlog ${acting.name()}\` works on the files of a store in a folder (--dir). With a database, ${own}.`,
    );
  const idle = [
    ...(isTyped("dir") ? ["--dir"] : []),
    ...(isTyped("takeOver") ? ["--take-over"] : []),
    ...(isTyped("durability", acting) ? ["--durability"] : []),
  ];
  if (idle.length > 0)
    throw new UsageError(
      `${idle.join(" and ")}: for a store in a folder only, not for --postgres.`,
    );
  program.setOptionValue("database", { connectionString: postgres, migrate });
}
