/** Defines the commands that import, export, delete and maintain. */

import { Argument } from "commander";
import type { LoadedCommand } from "./loaded-command.ts";
import {
  copyOptions,
  deleteOptions,
  exportOptions,
  importOptions,
  printsSql,
  redactOptions,
} from "./command-options.ts";
import { positionRange } from "./option-values.ts";

export function addKeepCommands(program: LoadedCommand): void {
  program
    .command("export")
    .description("write a session as JSON Lines: a header, then one event per line")
    .usage("[options] <session>")
    .argument("[session...]", "its id")
    .does(exportOptions, async () => (await import("./export-command.ts")).exportTo);

  program
    .command("import")
    .description("bring a session from a file into the store, completely or not at all")
    .argument("<file>", "an export, or a JSON array of messages; - is stdin")
    .does(importOptions, async () => (await import("./import-command.ts")).importFrom);

  program
    .command("delete")
    .description("delete a session permanently, or all old ones; its id cannot be used again")
    .argument("[session]", "its id")
    .does(deleteOptions, async () => (await import("./delete-sessions-command.ts")).deleteAny);

  program
    .command("redact")
    .description("redact positions of an encrypted session permanently: erase their keys")
    .argument("<session>", "its id")
    .argument("<positions...>", "positions, or ranges like 12-20", positionRange)
    .does(redactOptions, async () => (await import("./redact-command.ts")).redact);

  program
    .command("backup")
    .description("copy the store into an empty folder, and check the copy")
    .argument("<folder>", "the folder of the copy; created if missing")
    .does([], async () => (await import("./backup-command.ts")).backup);

  program
    .command("copy")
    .description(
      "copy all sessions between a folder and a database, exactly; run it again to continue",
    )
    .does(copyOptions, async () => (await import("./copy-command.ts")).copy);

  program
    .command("postgres")
    .description("create the tables of the database of --postgres")
    .addArgument(new Argument("<work>", "what to do").choices(["migrate"]))
    .does([printsSql], async () => (await import("./postgres-command.ts")).migrateDatabase);

  program
    .command("rotate-keys")
    .description("wrap the keys of encrypted sessions with the master key in TURNLOG_MASTER_KEY")
    .does([], async () => (await import("./rotate-keys-command.ts")).rotateKeys);

  program
    .command("gc")
    .description(
      "delete media that no session refers to, such as a killed process may leave behind",
    )
    .does([], async () => (await import("./gc-command.ts")).collectGarbage);

  program
    .command("repair")
    .description("repair a damaged store as far as possible, and report what is lost")
    .does([], async () => (await import("./repair-command.ts")).repair);
}
