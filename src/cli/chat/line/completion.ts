/** Completes the typed line: a command, a session, a way of compaction, or a file after `@`. Pure. */

import type { Draft } from "../../terminal/draft.ts";
import { commandNames } from "./chat-help.ts";
import { compactionWays } from "./chat-line.ts";
import { mentionOf } from "./mentioned-files.ts";

export interface Choice {
  readonly name: string;
  readonly what: string;
}

/** The names that are known by now. */
export interface KnownNames {
  readonly sessions: readonly Choice[];
  /** The entries of a folder, folders with a slash at the end; undefined while they are read. */
  readonly entries: (folder: string) => readonly string[] | undefined;
}

export interface Completion {
  readonly choices: readonly Choice[];
  /** The line after Tab: unchanged if several choices are left that have no common beginning. */
  readonly completed: Draft;
}

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
    const [first, ...others] = fitting;
    if (first === undefined) return undefined;
    const common = others.reduce((start, { name }) => commonStart(start, name), first.name);
    const text =
      others.length === 0 ? written(first.name) : begun.length < common.length ? common : begun;
    return {
      choices: fitting,
      completed: { before: before.slice(0, before.length - begun.length) + text, after },
    };
  };
  const command = /^\/[a-z]*$/.exec(before)?.[0];
  if (command !== undefined) return complete(command, commandNames);
  const [, name, word] = /^\/([a-z]+) (\S*)$/.exec(before) ?? [];
  if (word !== undefined) {
    if (name === "resume") return complete(word, names.sessions);
    if (name === "compact" || name === "preview")
      return complete(
        word,
        compactionWays.map((way) => ({ name: way, what: "" })),
      );
  }
  return completeFile(draft, names, complete);
}

function completeFile(
  { before }: Draft,
  { entries }: KnownNames,
  complete: (
    begun: string,
    choices: readonly Choice[],
    written: (name: string) => string,
  ) => Completion | undefined,
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
  const done = complete(path, choices, (name) => {
    if (name.endsWith("/")) return name;
    return isQuoted ? `${name}" ` : `${name} `;
  });
  const name = done?.completed.before.slice(from).trimEnd() ?? "";
  if (done === undefined || isQuoted || !/[\s"]/.test(name)) return done;
  // A name with a space needs quotes, which a whole name closes.
  const isWhole = done.choices.length === 1 && !name.endsWith("/");
  const text = isWhole ? `${mentionOf(name)} ` : `@"${name}`;
  return {
    ...done,
    completed: { ...done.completed, before: before.slice(0, -mention.length) + text },
  };
}

function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length]?.toLowerCase() === other[length]?.toLowerCase())
    length++;
  return one.slice(0, length);
}
