/** Defines the commands that import, export, delete and maintain. */

import { Argument, type Command, Option } from "commander";
import type { Runs } from "./loaded-command.ts";
import { collect, metadataValue, positionRange } from "./option-values.ts";

export function addKeepCommands(program: Command, runs: Runs): void {
  program
    .command("export")
    .description("write a session as JSON Lines: a header, then one event per line")
    .usage("[options] <session>")
    .argument("[session...]", "its id")
    .option("--out <file>", "the file (default: stdout)")
    .option("--encrypted", "export an encrypted session that shares no events as it is stored")
    .option(
      "--fixture [file]",
      "write a test fixture: short ids, times from a fixed start, and no secrets",
    )
    .option("--redact <regex>", "redact further matches in a fixture (repeatable)", collect)
    .option("--blobs <folder>", "write media into this folder (default: into the file)")
    .action(runs(async () => (await import("./export-command.ts")).exportTo));

  program
    .command("import")
    .description("bring a session from a file into the store, completely or not at all")
    .argument("<file>", "an export, or a JSON array of messages; - is stdin")
    .addOption(
      new Option("--from <kind>", "the content of the file: a session, or messages of the AI SDK")
        .choices(["session", "model-messages", "ui-messages"])
        .default("session"),
    )
    .option("--as <id>", "the session's id (default: its own id; messages need one)")
    .option("--no-verify", "import even if it breaks a law or its media are missing")
    .option("--blobs <folder>", "the folder with media that are not in the file")
    .action(runs(async () => (await import("./import-command.ts")).importFrom));

  program
    .command("delete")
    .description("delete a session permanently, or all old ones; its id cannot be used again")
    .argument("[session]", "its id")
    .option(
      "--older-than <date|days>",
      "instead of one session: all without an event since a date (2026-10-01) or in the last 30d",
    )
    .option(
      "--where <key=value>",
      "instead of one session: all with this in their metadata; key:=json for other values than texts (repeatable)",
      metadataValue,
    )
    .option("--dry-run", "with --older-than or --where: print what would be deleted")
    .option("--yes", "do not ask (required without a terminal)")
    .option("--cancel", "also delete a session whose turn waits for an approval")
    .addOption(
      new Option("--forks <what>", "if forks share its events: refuse, or copy the events first")
        .choices(["refuse", "copy"])
        .default("refuse"),
    )
    .action(runs(async () => (await import("./delete-sessions-command.ts")).deleteAny));

  program
    .command("redact")
    .description("redact positions of an encrypted session permanently: erase their keys")
    .argument("<session>", "its id")
    .argument("<positions...>", "positions, or ranges like 12-20", positionRange)
    .option("--reason <text>", "the reason, for readers of the session")
    .option("--yes", "do not ask (required without a terminal)")
    .action(runs(async () => (await import("./redact-command.ts")).redact));

  program
    .command("backup")
    .description("copy the store into an empty folder, and check the copy")
    .argument("<folder>", "the folder of the copy; created if missing")
    .action(runs(async () => (await import("./backup-command.ts")).backup));

  program
    .command("copy")
    .description(
      "copy all sessions between a folder and a database, exactly; run it again to continue",
    )
    .requiredOption("--from <store>", "the folder or the database to read")
    .requiredOption("--to <store>", "the folder or the database to copy into")
    .option("--follow", "also copy later events; Ctrl-C ends")
    .action(runs(async () => (await import("./copy-command.ts")).copy));

  program
    .command("postgres")
    .description("create the tables of the database of --postgres")
    .addArgument(new Argument("<work>", "what to do").choices(["migrate"]))
    .option("--sql", "print the SQL instead, for a role that may change the schema")
    .action(runs(async () => (await import("./postgres-command.ts")).migrateDatabase));

  program
    .command("rotate-keys")
    .description("wrap the keys of encrypted sessions with the master key in TURNLOG_MASTER_KEY")
    .action(runs(async () => (await import("./rotate-keys-command.ts")).rotateKeys));

  program
    .command("gc")
    .description(
      "delete media that no session refers to, such as a killed process may leave behind",
    )
    .action(runs(async () => (await import("./gc-command.ts")).collectGarbage));

  program
    .command("repair")
    .description("repair a damaged store as far as possible, and report what is lost")
    .action(runs(async () => (await import("./repair-command.ts")).repair));
}
