/** Gives a session a command of the catalogue, wherever the session runs, and prints the answer as JSON. */

import { writeLine, type Output } from "../output/output.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { openPort } from "../settings/session-port.ts";
import type { SharedOptions } from "../settings/store-folder.ts";

/** How a word of the command line is read: as it is, as a number or as JSON. */
export type Taken = "text" | "number" | "json";

/** A flag, one of some words, or a value. */
interface Flag {
  readonly kind: Taken | "flag" | readonly string[];
  readonly what: string;
}

/** A command of the catalogue in the terminal: each argument is a word, or has fields that are flags. */
export interface CommandRow {
  /** In the catalogue. */
  readonly name: string;
  readonly what: string;
  readonly takes: readonly {
    readonly name: string;
    readonly isOptional: boolean;
    readonly kind: Taken | Readonly<Record<string, Flag>>;
  }[];
}

/** @param words - The session, and the arguments that are no options. @throws TurnlogError as the command */
export async function giveCommand(
  { name, takes }: CommandRow,
  [id, ...words]: readonly unknown[],
  options: SharedOptions,
  { data, progress }: Output,
): Promise<void> {
  const session = String(id);
  const args = takes.map(({ kind, isOptional }) => {
    if (typeof kind !== "object") return words.shift();
    const fields = Object.keys(kind).map((field): [string, unknown] => [
      field,
      Reflect.get(options, field),
    ]);
    // A flag that is not given is false.
    const given = fields.filter(([, value]) => value !== undefined && value !== false);
    return given.length === 0 && isOptional ? undefined : Object.fromEntries(given);
  });
  await using port = await openPort(options, {});
  const answer = await port.post(session, name, args);
  if (answer !== undefined || options.json) await writeLine(data, jsonText(answer ?? { session }));
  else await writeLine(progress, `Session ${visibleName(session)}: done.`);
}
