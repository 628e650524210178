/** The words that fit a command line at its cursor, by the definitions of the commands. */

import type { Argument, Command, Option } from "commander";

export interface Fitting {
  readonly word: string;
  readonly about: string;
}

/** The shell completes names of files. */
export const FILES = "files";

/** @param given - The options on the line, by their names. */
type FindSessions = (given: ReadonlyMap<string, string>) => Promise<readonly Fitting[]>;

/** `words`: without the program's name; the last one is at the cursor, and may be empty. */
export async function fittingWords(
  program: Command,
  words: readonly string[],
  sessions: FindSessions,
): Promise<readonly Fitting[] | typeof FILES> {
  const typed = words.at(-1) ?? "";
  const { command, operands, option, given, isOver } = lineOf(program, words.slice(0, -1));
  const fitting = async (
    place: Argument | Option | undefined,
    before = "",
  ): Promise<readonly Fitting[] | typeof FILES> => {
    if (place === undefined) return [];
    const values = await valuesOf(place, program, () => sessions(given));
    if (values === FILES) return values;
    return startingWith(
      typed,
      values.map(({ word, about }) => ({ word: before + word, about })),
    );
  };

  if (option !== undefined) return await fitting(option);
  if (typed.startsWith("-") && !isOver) {
    const options = optionsOf(program, command);
    const [flag = "", value] = typed.split("=", 2);
    if (value !== undefined) {
      return await fitting(optionNamed(options, flag), `${flag}=`);
    }
    const shown = options.filter(({ hidden }) => !hidden);
    const named = shown.map(({ long, description }) => ({ word: long ?? "", about: description }));
    return startingWith(typed, [...named, { word: "--help", about: "print this help" }]);
  }
  if (command === undefined) {
    return operands.length > 0 ? [] : startingWith(typed, namesOf(program));
  }
  const places = command.registeredArguments;
  const last = places.at(-1);
  return await fitting(places[operands.length] ?? (last?.variadic === true ? last : undefined));
}

interface Line {
  /** Undefined for the chat without its name. */
  readonly command: Command | undefined;
  readonly operands: readonly string[];
  /** The option that waits for its value. */
  readonly option: Option | undefined;
  readonly given: ReadonlyMap<string, string>;
  /** Whether `--` has ended the options. */
  readonly isOver: boolean;
}

function lineOf(program: Command, words: readonly string[]): Line {
  let command: Command | undefined;
  let option: Option | undefined;
  let isOver = false;
  const operands: string[] = [];
  const given = new Map<string, string>();
  for (const word of words) {
    if (option !== undefined && (option.required || !word.startsWith("-"))) {
      given.set(option.attributeName(), word);
      option = undefined;
    } else if (word === "--") {
      isOver = true;
    } else if (word.startsWith("-") && !isOver) {
      const [flag = "", value] = word.split("=", 2);
      option = optionNamed(optionsOf(program, command), flag);
      if (option !== undefined && value !== undefined) given.set(option.attributeName(), value);
      if (value !== undefined || option?.isBoolean() === true) option = undefined;
    } else {
      const isFirst = command === undefined && operands.length === 0;
      const named = isFirst ? commandNamed(program, word) : undefined;
      if (named === undefined) operands.push(word);
      else command = named;
    }
  }
  return { command, operands, option, given, isOver };
}

/** Without a command, the options are those of the chat. */
function optionsOf(program: Command, command: Command | undefined): readonly Option[] {
  const own = command ?? commandNamed(program, "chat");
  return [...(own?.options ?? []), ...program.options];
}

function optionNamed(options: readonly Option[], flag: string): Option | undefined {
  return options.find(({ short, long }) => short === flag || long === flag);
}

function commandNamed(program: Command, name: string): Command | undefined {
  return program.commands.find((command) => command.name() === name);
}

function namesOf(program: Command): readonly Fitting[] {
  return program.commands.map((command) => ({
    word: command.name(),
    about: command.description(),
  }));
}

/** An option `--session <id>` and an argument `<session>` take the same. */
async function valuesOf(
  place: Argument | Option,
  program: Command,
  sessions: () => Promise<readonly Fitting[]>,
): Promise<readonly Fitting[] | typeof FILES> {
  if (place.argChoices !== undefined) return place.argChoices.map((word) => ({ word, about: "" }));
  if (place.name() === "session") return await sessions();
  if (place.name() === "command") return namesOf(program);
  const value = "flags" in place ? /[<[]([a-z]+)/.exec(place.flags)?.[1] : place.name();
  return value === "file" || value === "folder" || value === "module" ? FILES : [];
}

function startingWith(typed: string, all: readonly Fitting[]): readonly Fitting[] {
  return all.filter(({ word }) => word.startsWith(typed));
}

/** The words of a typed line; the last one may be unfinished, or empty after a blank. */
export function shellWords(line: string): readonly string[] {
  const pieces = line.matchAll(/\\(.?)|'([^']*)'?|"((?:\\.|[^"\\])*)"?|(\s+)|([^\s'"\\]+)/gs);
  const words = [""];
  for (const [, escaped, single, double, blank, plain] of pieces) {
    if (blank !== undefined) words.push("");
    else {
      const text = escaped ?? single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? plain;
      words.push((words.pop() ?? "") + text);
    }
  }
  return words;
}
