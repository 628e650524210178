/** The text of `src/cli/commands/session-command-table.ts`: the commands of a session that the terminal gives as the catalogue has them. */

import { z } from "zod";
import { commands, type Command, type Parameter } from "../../src/commands/index.ts";
import { declared, optionsOfCall } from "../reference/declared.ts";

export const commandTablePath = "src/cli/commands/session-command-table.ts";

/** Commands that the terminal has in a way of its own, or that are about a client's person. */
const others: ReadonlySet<string> = new Set([
  "rewind",
  "checkout",
  "fork",
  "rerun",
  "redact",
  "markSeen",
]);

export function commandTableSource(): string {
  const given = commands.filter(({ name, route }) => route !== undefined && !others.has(name));
  return `/** The commands of a session in the terminal. Made from the catalogue and its docstrings by \`npm run tables\`. */

import type { CommandRow } from "./give-command.ts";

export const sessionCommandTable: readonly CommandRow[] = ${JSON.stringify(given.map(rowOf), undefined, 2)};
`;
}

function rowOf({ name, parameters }: Command): object {
  const comment =
    declared("Session")?.members.find((member) => member.name === name)?.comment ?? "";
  const [, first = "", rest = ""] = /^(\w+)([^:;.(]*)/.exec(comment) ?? [];
  if (first === "") throw new Error(`The docstring of Session.${name} does not explain it.`);
  return {
    name,
    what: `${imperative(first.toLowerCase())}${rest}`.trim(),
    takes: parameters.filter((one) => one.isLocal !== true).flatMap((one) => takenOf(name, one)),
  };
}

/** Of a longer docstring the help has the first sentence. */
const LONGEST = 180;

/** `withdraws` becomes `withdraw`, as the help of the other commands has it. */
function imperative(verb: string): string {
  return verb.replace(/ies$/, "y").replace(/oes$/, "o").replace(/s$/, "");
}

function takenOf(
  command: string,
  { name, schema, isOptional, fields, isMessage }: Parameter,
): readonly object[] {
  if (fields === undefined)
    return [
      {
        name,
        isOptional,
        kind: isMessage === true ? "text" : kindOf(schema),
      },
    ];
  const sent = Object.entries(fields).filter(([field]) => field !== "by");
  if (sent.length === 0) return [];
  const members = optionsOfCall(command);
  const kind = sent.map(([field, of]): [string, object] => {
    const comment = members.find((member) => member.name === field)?.comment ?? "";
    if (comment === "") throw new Error(`The docstrings do not explain ${command}.${field}.`);
    const first = /^.*?\.(?= |$)/.exec(comment)?.[0] ?? comment;
    const what = (comment.length > LONGEST ? first : comment).replace(/\.$/, "");
    return [
      field,
      { kind: choicesOf(of) ?? kindOf(of), what: what.slice(0, 1).toLowerCase() + what.slice(1) },
    ];
  });
  const kinds: object = Object.fromEntries(kind);
  return [{ name, isOptional, kind: kinds }];
}

function choicesOf(schema: z.ZodType): readonly string[] | undefined {
  return schema instanceof z.ZodEnum ? schema.options.map(String) : undefined;
}

function kindOf(schema: z.ZodType | undefined): string {
  const takes = (value: unknown): boolean => schema?.safeParse(value).success ?? true;
  const isAny = takes("a text") && takes(1);
  if (isAny) return "json";
  if (takes("a text") || takes("2026-01-31T09:00:00Z")) return "text";
  if (takes(true)) return "flag";
  return takes(1) ? "number" : "json";
}
