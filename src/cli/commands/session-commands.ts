/**
 * Defines the commands of a session that the terminal gives as the catalogue has them: arguments become words, the
 * fields of options become flags. Their names and their help are those of a generated table: `--help` loads no zod.
 */

import { InvalidArgumentError, Option } from "commander";
import type { LoadedCommand } from "./loaded-command.ts";
import type { CommandRow, Taken } from "./give-command.ts";
import { sessionCommandTable } from "./session-command-table.ts";

const group = "Commands that a session takes:";

export function addSessionCommands(program: LoadedCommand): void {
  for (const row of sessionCommandTable) {
    const command = program
      .command(dashed(row.name))
      .description(row.what)
      .helpGroup(group)
      .argument("<session>", "its id");
    for (const { name, kind, isOptional } of row.takes) {
      if (typeof kind === "object") continue;
      const word = dashed(name);
      command.argument(isOptional ? `[${word}]` : `<${word}>`, "", parserOf(kind));
    }
    command.does(row.takes.flatMap(flagsOf), async (options) => {
      const { giveCommand } = await import("./give-command.ts");
      return () => giveCommand(row, command.processedArgs, options, command.output);
    });
  }
}

/** `set-title` */
function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function flagsOf({ kind }: CommandRow["takes"][number]): readonly Option[] {
  if (typeof kind !== "object") return [];
  return Object.entries(kind).map(([name, { kind: value, what }]) => {
    const long = `--${dashed(name)}`;
    if (value === "flag") return new Option(long, what);
    const option = new Option(`${long} <${value === "json" ? "json" : "value"}>`, what);
    return typeof value === "object" ? option.choices(value) : option.argParser(parserOf(value));
  });
}

function parserOf(kind: Taken): (text: string) => unknown {
  return (text) => {
    if (kind === "text") return text;
    try {
      const value: unknown = JSON.parse(text);
      if (kind === "json" || typeof value === "number") return value;
    } catch {
      // It is refused below.
    }
    throw new InvalidArgumentError(`It is not ${kind === "json" ? "JSON" : "a number"}.`);
  };
}
