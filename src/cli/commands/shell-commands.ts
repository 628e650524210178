/** Defines the commands about the command line, and refuses a mistyped command, which would go to a model as a message. */

import { type Command, Argument, type Option } from "commander";
import { meantName, UsageError } from "../output/error-report.ts";
import { writeLines, type Output } from "../output/output.ts";

/** Defines `turnlog completion <shell>`. */
export function addCompletionCommand(program: Command, output: Output): void {
  program
    .command("completion")
    .description("print a script that completes commands and options in a shell")
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

/** What other programs call the commands. */
const otherNames: Readonly<Record<string, string>> = {
  list: "sessions",
  ls: "sessions",
  ps: "sessions",
  history: "show",
  cat: "show",
  events: "log",
  tail: "log",
  rm: "delete",
  remove: "delete",
  undo: "rewind",
  cost: "bill",
  usage: "bill",
};

/**
 * Runs before words without a command are sent as a message. `args`: words after `--` are always a message.
 * @throws UsageError for one word in the form of a command, and for a first word that is one typing error away
 * from a command
 */
export function refuseMistyped(program: Command, acting: Command, args: readonly string[]): void {
  const [word = "", ...more] = acting.args;
  const isNamed = program.args[0] === acting.name();
  if (isNamed || acting.name() !== "chat" || args.includes("--")) return;
  // An option of the chat says what the word is.
  const isChat = acting.options.some(
    (one) => acting.getOptionValueSource(one.attributeName()) === "cli",
  );
  const isCommand = !isChat && more.length === 0 && /^[a-z][a-z-]*$/.test(word);
  if (!isCommand && meantName(word, namesOf(program)) === undefined) return;
  throw new UsageError(
    `${noCommand(word, program)} To send it as a message: turnlog -- ${acting.args.join(" ")}`,
  );
}

function noCommand(word: string, program: Command): string {
  const known = Object.hasOwn(otherNames, word) ? otherNames[word] : undefined;
  const meant = known ?? meantName(word, namesOf(program));
  const why = `There is no command ${JSON.stringify(word)}`;
  return meant === undefined
    ? `${why}; turnlog --help lists them.`
    : `${why}; did you mean ${meant}?`;
}

function namesOf(program: Command): readonly string[] {
  return program.commands.map((command) => command.name());
}

// The completion scripts: fixed lists of commands, options and choices, made of the definitions of the commands.

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

function completionScript(shell: Shell, program: Command): string {
  switch (shell) {
    case "bash":
      return `# Completion of turnlog for bash. In ~/.bashrc: source <(turnlog completion bash)\n${bash(program)}`;
    case "zsh":
      return `# Completion of turnlog for zsh. In ~/.zshrc, after compinit: source <(turnlog completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n${bash(program)}`;
    case "fish":
      return fish(program).join("\n");
  }
}

/** The options of a command; those of the chat are also those of a line without a command. */
function optionsOf(command: Command): readonly Option[] {
  return command.options.filter(({ hidden, long }) => !hidden && long !== undefined);
}

function choicesOf(place: Argument | Option): readonly string[] {
  return place.argChoices ?? [];
}

/** What may stand after a command that is no option. */
function operandsOf(program: Command, command: Command): readonly string[] {
  return command.name() === "help"
    ? program.commands.map((one) => one.name())
    : command.registeredArguments.flatMap(choicesOf);
}

/** Where no word fits, the shell completes names of files. */
function bash(program: Command): string {
  const names = program.commands.map((command) => command.name());
  const flags = (options: readonly Option[]): readonly (string | undefined)[] =>
    options.map(({ long }) => long);
  const rows = (command: Command, as: string, more: readonly string[]): string => {
    const own = command === program ? [] : optionsOf(command);
    const words = [...more, ...flags(own), ...flags(optionsOf(program)), "--help"];
    return `      "${as} "*) words="${words.join(" ")}" ;;`;
  };
  const choices = [program, ...program.commands].flatMap((command) =>
    optionsOf(command).flatMap((option) => {
      const as = command === program ? '*" ' : `"${command.name()} `;
      const values = choicesOf(option).join(" ");
      return values === "" ? [] : [`      ${as}${option.long}") words="${values}" ;;`];
    }),
  );
  const chat = program.commands.find((command) => command.name() === "chat") ?? program;
  return `_turnlog() {
  local word command="" words=""
  for word in "\${COMP_WORDS[@]}"; do
    case "$word" in
      "$2") ;;
      ${names.join("|")}) command="$word"; break ;;
    esac
  done
  case "$command $3" in
${[...choices, ...program.commands.map((command) => rows(command, command.name(), operandsOf(program, command))), rows(chat, "", names)].join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$2"))
}
complete -o default -F _turnlog turnlog`;
}

function fish(program: Command): readonly string[] {
  const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
  const line = (when: string, rest: string): string => `complete -c turnlog ${when}${rest}`;
  const option = (when: string, { long = "", short, description, ...one }: Option): string => {
    const named = `-l ${long.slice(2)}${short === undefined ? "" : ` -s ${short.slice(1)}`}`;
    const values = one.argChoices === undefined ? "" : ` -xa ${quoted(one.argChoices.join(" "))}`;
    const takes = one.required && values === "" ? " -r" : values;
    return line(when, `${named}${takes} -d ${quoted(description)}`);
  };
  return [
    "# Completion of turnlog for fish: turnlog completion fish > ~/.config/fish/completions/turnlog.fish",
    ...optionsOf(program).map((one) => option("", one)),
    line("", "-l help -d 'print this help'"),
    ...program.commands.flatMap((command) => {
      const name = command.name();
      const isFirst = "-n __fish_use_subcommand ";
      const isHere = `-n '__fish_seen_subcommand_from ${name}' `;
      const operands = operandsOf(program, command).join(" ");
      return [
        line(isFirst, `-a ${name} -d ${quoted(command.description())}`),
        ...optionsOf(command).map((one) => option(isHere, one)),
        ...(name === "chat" ? optionsOf(command).map((one) => option(isFirst, one)) : []),
        ...(operands === "" ? [] : [line(isHere, `-fa ${quoted(operands)}`)]),
      ];
    }),
  ];
}
