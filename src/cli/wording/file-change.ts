/**
 * What a call writes to a file, as lines that come and go. Reads the inputs that such tools usually have: a path with
 * the whole text, or old and new text, one or several. Pure.
 */

import { diffArrays } from "diff";
import { z } from "zod";
import { jsonObjectSchema, type JsonObject, type JsonValue } from "../../events/index.ts";
import { amount } from "./wording.ts";

export interface ChangedLine {
  readonly mark: "+" | "-" | " ";
  readonly text: string;
}

export interface FileChange {
  readonly lines: readonly ChangedLine[];
  /** The fields of the input that the lines tell. All others must be shown too: a person approves the whole input. */
  readonly told: ReadonlySet<string>;
}

/** Gives the text of a file that a tool may write. */
export type PresentText = (toolName: string, path: string) => string | undefined;

const writes = /write|create|edit|replace|insert|update|save/i;
const paths = ["path", "file_path", "filePath", "filename", "file"];
const wholes = ["content", "contents", "text", "file_text"];
const olds = ["old_string", "oldString", "old_str", "old_text", "oldText"];
const news = ["new_string", "newString", "new_str", "new_text", "newText"];

const editsSchema = z.array(jsonObjectSchema);

/** Lines next to a change that are shown with it. */
const AROUND = 2;
const MOST_LINES = 24;
/** Texts that differ in more lines are shown as a whole: the old one, then the new one. */
const MOST_EDITS = 1000;

/** Undefined for a call that writes no file, or in a form that is not known. */
export function fileChange(
  toolName: string,
  input: JsonValue,
  present?: PresentText,
): FileChange | undefined {
  const fields = jsonObjectSchema.safeParse(input).data ?? {};
  const path = textOf(fields, paths);
  if (path === undefined || !writes.test(toolName)) return undefined;
  const whole = textOf(fields, wholes);
  const edits = editsSchema.safeParse(fields["edits"]).data;
  const pair = pairOf(fields);
  if (pair !== undefined) return changeOf([pair], pair.names);
  if (edits !== undefined) {
    const pairs = edits.map(pairOf).filter((one) => one !== undefined);
    // An edit that says more, or other things, is shown as it is.
    const isWhole = edits.every((edit, at) => Object.keys(edit).length === pairs[at]?.names.length);
    return isWhole && edits.length > 0 ? changeOf(pairs, ["edits"]) : undefined;
  }
  if (whole === undefined) return undefined;
  const before = present?.(toolName, path.text) ?? "";
  return changeOf([{ before, after: whole.text }], [whole.name]);
}

interface Pair {
  readonly before: string;
  readonly after: string;
}

function changeOf(pairs: readonly Pair[], told: readonly string[]): FileChange {
  const all = pairs.flatMap(({ before, after }) => nearChanges(diff(before, after)));
  const left = all.length - MOST_LINES;
  const note = (text: string): ChangedLine => ({ mark: " ", text });
  const lines =
    left > 1 ? [...all.slice(0, MOST_LINES), note(`… ${amount(left, "line")} more`)] : all;
  return { lines: all.length > 0 ? lines : [note("no line changes")], told: new Set(told) };
}

function pairOf(fields: JsonObject): (Pair & { readonly names: readonly string[] }) | undefined {
  const [before, after] = [textOf(fields, olds), textOf(fields, news)];
  if (before === undefined || after === undefined) return undefined;
  return { before: before.text, after: after.text, names: [before.name, after.name] };
}

/** The first of the fields that is a text. */
function textOf(
  fields: JsonObject,
  names: readonly string[],
): { readonly name: string; readonly text: string } | undefined {
  for (const name of names) {
    const text = fields[name];
    if (typeof text === "string") return { name, text };
  }
  return undefined;
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function diff(before: string, after: string): readonly ChangedLine[] {
  const olds = linesOf(before);
  const news = linesOf(after);
  const changes = diffArrays([...olds], [...news], { maxEditLength: MOST_EDITS }) ?? [
    { removed: true, added: false, value: olds },
    { removed: false, added: true, value: news },
  ];
  return changes.flatMap(({ added, removed, value }) =>
    value.map((text) => ({ mark: added ? "+" : removed ? "-" : " ", text }) as const),
  );
}

function nearChanges(lines: readonly ChangedLine[]): readonly ChangedLine[] {
  const isShown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ mark }) => mark !== " "),
  );
  return lines.flatMap((line, index) => {
    if (isShown[index] === true) return [line];
    return isShown[index + 1] === true ? [{ mark: " ", text: "…" } as const] : [];
  });
}
