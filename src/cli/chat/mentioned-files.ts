/**
 * Files that a typed message names with an `@` in front: `@shot.png`, `@"my notes.md"` (`\"` is a
 * quotation mark in it), `@https://example.org/plan.pdf`. Only where a person types: what comes through a
 * pipe may name files that nobody wanted to show.
 */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { TurnlogError } from "../../events/index.ts";

const MENTION = /(?<=^|[\s([{'])@(?:"(?<quoted>(?:\\"|[^"\n])+)"|(?<plain>[^\s"@][^\s"]*))/g;
/** What belongs to the sentence rather than to the name. */
const BEHIND = /[.,;:!?)\]}']+$/;

/**
 * Their paths and addresses, each once; a word that names no file is a word.
 * @throws TurnlogError `INVALID_INPUT` for a name in quotes that is none: nobody quotes a word by chance
 */
export async function mentionedFiles(text: string, folder: string): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const { groups } of text.matchAll(MENTION)) {
    const quoted = groups?.["quoted"]?.replaceAll('\\"', '"');
    const name = quoted ?? groups?.["plain"] ?? "";
    const source = isAddress(name) ? name.replace(BEHIND, "") : await pathOf(name, folder);
    if (source !== undefined) found.add(source);
    else if (quoted !== undefined) {
      throw new TurnlogError(
        "INVALID_INPUT",
        `There is no file ${JSON.stringify(name)} here, and nothing was sent. With a space behind the @ it is no name of one.`,
      );
    }
  }
  return [...found];
}

/** Of the file that is named, also where what ends the sentence stands behind it. */
async function pathOf(name: string, folder: string): Promise<string | undefined> {
  for (const candidate of new Set([name, name.replace(BEHIND, "")])) {
    const path = resolve(folder, candidate);
    if (candidate !== "" && (await isFile(path))) return path;
  }
  return undefined;
}

/** What a person would type to attach a file: for what was asked for before there was a line to type in. */
export function mentionOf(source: string): string {
  const isPlain = !/[\s"]|^@/.test(source);
  return isPlain ? `@${source}` : `@"${source.replaceAll('"', '\\"')}"`;
}

/** Whether it names something on the web. */
export function isAddress(source: string): boolean {
  return /^https?:\/\/./i.test(source);
}

export async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    // Whatever the reason: it cannot be attached, and the word stands as it was typed.
    if (error instanceof Error) return false;
    throw error;
  }
}
