/** Commands that bring sessions in and out of a store, and what keeps the store well. */

import { type Command, Option } from "commander";
import type { ExitCode, Output } from "../output/index.ts";
import { collect, stretch, wholeNumber, type Stretch } from "./option-values.ts";

export function addKeepCommands(
  program: Command,
  output: Output,
  end: (code: ExitCode) => void,
): void {
  program
    .command("export")
    .description("write a session as JSON Lines: a header, then one event a line")
    .usage("[options] <session>")
    .argument("[session]", "its id")
    .allowExcessArguments()
    .option("--out <file>", "where to (default: stdout)")
    .option("--sealed", "of an encrypted session that shares none, its events as they are stored")
    .option("--fixture [file]", "short ids, times from a fixed moment on, and no secrets")
    .option(
      "--redact <regex>",
      "in a fixture, take out what matches this too (repeatable)",
      collect,
    )
    .option("--blobs <folder>", "put media into a folder beside it (default: into the file)")
    .action(async (_session: unknown, _options: unknown, command: Command) => {
      const { exportTo } = await import("./export-command.ts");
      await exportTo(command.args, command.optsWithGlobals(), output);
    });

  program
    .command("import")
    .description("bring a session from a file into the store, all of it or nothing")
    .argument("<file>", "what 'turnlog export' wrote, or a JSON array of messages; - is stdin")
    .addOption(
      new Option("--from <kind>", "what is in the file: messages are those of the AI SDK")
        .choices(["session", "model-messages", "ui-messages"])
        .default("session"),
    )
    .option("--as <name>", "the session's name here (default: the one it had; messages need one)")
    .option("--no-verify", "take it although it breaks a law, or its media are not there")
    .option("--blobs <folder>", "where its media lie that are not in the file")
    .action(async (file: string, _options: unknown, command: Command) => {
      const { importFrom } = await import("./import-command.ts");
      await importFrom(file, command.optsWithGlobals(), output);
    });

  program
    .command("delete")
    .description("delete a session for good; its name is not used again")
    .argument("<session>", "its id")
    .option("--yes", "do not ask (where there is no terminal, nobody can be asked)")
    .option("--cancel", "also in a turn that waits for an approval, which is given up")
    .addOption(
      new Option("--forks <what>", "where others share its events: give them their own copy")
        .choices(["refuse", "copy"])
        .default("refuse"),
    )
    .action(async (session: string, _options: unknown, command: Command) => {
      const { deleteSession } = await import("./delete-command.ts");
      end(await deleteSession(session, command.optsWithGlobals(), output));
    });

  program
    .command("trim")
    .description("drop what a session's old steps need not hold: delta boundaries, or reasoning")
    .argument("<session>", "its id")
    .addOption(
      new Option("--drop <what>", "what is dropped, for good")
        .choices(["boundaries", "reasoning"])
        .makeOptionMandatory(),
    )
    .option(
      "--keep-steps <n>",
      "keep the last n steps (default: those of the last turn)",
      wholeNumber,
    )
    .option("--before <date|days>", "only steps that were over before 2026-10-01, or 30d ago")
    .option("--shown", "also reasoning that the next prompt would have")
    .option("--dry-run", "say what would be dropped, and drop nothing")
    .option("--yes", "do not ask (where there is no terminal, nobody can be asked)")
    .action(async (session: string, _options: unknown, command: Command) => {
      const { trimStoredLog } = await import("./trim-log-command.ts");
      end(await trimStoredLog(session, command.optsWithGlobals(), output));
    });

  program
    .command("redact")
    .description("erase the keys of what an encrypted session says at positions, for good")
    .argument("<session>", "its id")
    .argument("<positions...>", "each a position, or a stretch as 12-20", stretch)
    .option("--reason <text>", "why, for those who may read the session")
    .option("--yes", "do not ask (where there is no terminal, nobody can be asked)")
    .action(
      async (
        session: string,
        positions: readonly Stretch[],
        _options: unknown,
        command: Command,
      ) => {
        const { redact } = await import("./redact-command.ts");
        end(await redact(session, positions, command.optsWithGlobals(), output));
      },
    );

  program
    .command("backup")
    .description("copy the store into another, empty folder, and check all that is copied")
    .argument("<folder>", "where to; made when it is not there")
    .action(async (folder: string, _options: unknown, command: Command) => {
      const { backup } = await import("./backup-command.ts");
      end(await backup(folder, command.optsWithGlobals(), output));
    });

  program
    .command("gc")
    .description("take media away that no session has, such as a killed process leaves behind")
    .action(async (_options: unknown, command: Command) => {
      const { collectGarbage } = await import("./gc-command.ts");
      end(await collectGarbage(command.optsWithGlobals(), output));
    });

  program
    .command("repair")
    .description("mend a damaged store as far as it can be mended, and say what is gone")
    .action(async (_options: unknown, command: Command) => {
      const { repair } = await import("./repair-command.ts");
      await repair(command.optsWithGlobals(), output);
    });
}
