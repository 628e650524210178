/** Completes the typed line: a command, a session, a way of compaction, or a file after `@`. Pure. */

import type { Draft } from "../../terminal/draft.ts";
import { commandNames } from "./chat-help.ts";
import { compactionWays } from "./chat-line.ts";
import { mentionOf } from "./mentioned-files.ts";

export interface Choice {
  readonly name: string;
  readonly what: string;
}

export interface FormField extends Choice {
  /** Values to choose from; none where any is allowed. */
  readonly values: readonly string[];
}

/** The names that are known by now. */
export interface KnownNames {
  readonly sessions: readonly Choice[];
  readonly models: readonly Choice[];
  /** The fields of the form that waits for an answer. */
  readonly form: readonly FormField[];
  /** The entries of a folder, folders with a slash at the end; undefined while they are read. */
  readonly entries: (folder: string) => readonly string[] | undefined;
}

export interface Completion {
  readonly choices: readonly Choice[];
  /** The line after Tab: unchanged if several choices are left that have no common beginning. */
  readonly completed: Draft;
  /** The line with one of the choices. */
  readonly with: (choice: Choice) => Draft;
}

type Complete = (
  begun: string,
  choices: readonly Choice[],
  written: (name: string) => string,
) => Completion | undefined;

/** Undefined if nothing can be completed at the cursor. */
export function completionOf(draft: Draft, names: KnownNames): Completion | undefined {
  const { before, after } = draft;
  if (!/^\s|^$/.test(after)) return undefined;
  const complete = (
    begun: string,
    choices: readonly Choice[],
    written: (name: string) => string = (name) => `${name} `,
  ): Completion | undefined => {
    const fitting = choices.filter(({ name }) =>
      name.toLowerCase().startsWith(begun.toLowerCase()),
    );
    const start = before.slice(0, before.length - begun.length);
    const [first, ...others] = fitting;
    if (first === undefined) return undefined;
    const common = others.reduce((one, { name }) => commonStart(one, name), first.name);
    const text =
      others.length === 0 ? written(first.name) : begun.length < common.length ? common : begun;
    return {
      choices: fitting,
      completed: { before: start + text, after },
      with: ({ name }) => ({ before: start + written(name), after }),
    };
  };
  const command = /^\/[a-z]*$/.exec(before)?.[0];
  if (command !== undefined) return complete(command, commandNames);
  const [, name, word] = /^\/([a-z]+) (\S*)$/.exec(before) ?? [];
  if (word !== undefined) {
    if (name === "resume") return complete(word, names.sessions);
    if (name === "model") return complete(word, names.models);
    if (name === "compact" || name === "preview")
      return complete(
        word,
        compactionWays.map((way) => ({ name: way, what: "" })),
      );
  }
  return completeForm(before, names.form, complete) ?? completeFile(draft, names, complete);
}

/** The fields that are not filled in yet, and the values of the one at the cursor. */
function completeForm(
  before: string,
  form: readonly FormField[],
  complete: Complete,
): Completion | undefined {
  const answers = before.split(",").map((one) => one.trimStart());
  const [, name, begun = ""] = /^(?:([\w-]+)=)?([^=]*)$/.exec(answers.at(-1) ?? "") ?? [];
  if (name !== undefined) {
    const values = form.find((field) => field.name === name)?.values ?? [];
    const choices = values.map((value) => ({ name: value, what: "" }));
    return complete(begun, choices, (value) => value);
  }
  const isFilled = (field: string): boolean => answers.some((one) => one.startsWith(`${field}=`));
  const open = form.filter((field) => !isFilled(field.name));
  return complete(begun, open, (field) => `${field}=`);
}

function completeFile(
  { before, after }: Draft,
  { entries }: KnownNames,
  complete: Complete,
): Completion | undefined {
  const [, mention] = /(?:^|\s)(@(?:"[^"\n]*|[^\s"@]*))$/.exec(before) ?? [];
  if (mention === undefined) return undefined;
  const path = mention.replace(/^@"?/, "");
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  // Hidden files are offered only to those who type the dot.
  const shown = entries(folder)?.filter(
    (entry) => !entry.startsWith(".") || path.slice(folder.length).startsWith("."),
  );
  const choices = (shown ?? []).map((entry) => ({ name: `${folder}${entry}`, what: "" }));
  const isQuoted = mention.startsWith('@"');
  const from = before.length - path.length;
  const found = complete(path, choices, (name) => {
    if (name.endsWith("/")) return name;
    return isQuoted ? `${name}" ` : `${name} `;
  });
  if (found === undefined) return undefined;
  const mentioning = (text: string): Draft => ({
    before: before.slice(0, -mention.length) + text,
    after,
  });
  // A name with a space needs quotes, which a whole name closes.
  const begun = (name: string): string =>
    isQuoted || /[\s"]/.test(name) ? `@"${name}` : `@${name}`;
  const done: Completion = {
    ...found,
    with: ({ name }) => mentioning(name.endsWith("/") ? begun(name) : `${mentionOf(name)} `),
  };
  const name = found.completed.before.slice(from).trimEnd();
  if (isQuoted || !/[\s"]/.test(name)) return done;
  const isWhole = found.choices.length === 1 && !name.endsWith("/");
  return { ...done, completed: mentioning(isWhole ? `${mentionOf(name)} ` : begun(name)) };
}

function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length]?.toLowerCase() === other[length]?.toLowerCase())
    length++;
  return one.slice(0, length);
}
