/** Defines the commands about the command line, and refuses a mistyped command, which would go to a model as a message. */

import { type Command, Argument } from "commander";
import { meantName } from "../output/did-you-mean.ts";
import { writeLines, type Output } from "../output/output.ts";
import { UsageError } from "../output/error-report.ts";
import { completionScript, type Shell, shells } from "./completion-scripts.ts";

/** Defines `turnlog completion <shell>`. */
export function addCompletionCommand(program: Command, output: Output): void {
  program
    .command("completion")
    .description("print the script that completes commands and options in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .action(async (shell: Shell) => {
      await writeLines(output.data, [completionScript(shell, program)]);
    });
}

/** Defines `turnlog help <command>`. */
export function addHelpCommand(program: Command): void {
  program
    .command("help")
    .description("print the help of a command")
    .argument("[command]", "its name")
    .action((name: string | undefined) => {
      if (name === undefined) program.help();
      const found = program.commands.find((command) => command.name() === name);
      if (found === undefined) throw new UsageError(noCommand(name, program));
      found.help();
    });
}

/**
 * Runs before words without a command are sent as a message. `args`: words after `--` are always a message.
 * @throws UsageError if the first word is one typing error away from a command
 */
export function refuseMistyped(program: Command, acting: Command, args: readonly string[]): void {
  const [word = ""] = acting.args;
  const isNamed = program.args[0] === acting.name();
  if (isNamed || acting.name() !== "chat" || args.includes("--")) return;
  if (meantName(word, namesOf(program)) === undefined) return;
  throw new UsageError(
    `${noCommand(word, program)} To send it as a message: turnlog -- ${acting.args.join(" ")}`,
  );
}

function noCommand(word: string, program: Command): string {
  const meant = meantName(word, namesOf(program));
  const why = `There is no command ${JSON.stringify(word)}`;
  return meant === undefined
    ? `${why}; turnlog --help lists them.`
    : `${why}; did you mean ${meant}?`;
}

function namesOf(program: Command): readonly string[] {
  return program.commands.map((command) => command.name());
}
