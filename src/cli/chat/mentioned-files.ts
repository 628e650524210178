/**
 * Files that a typed message names with an `@` in front: `@shot.png`, `@"my notes.md"`,
 * `@https://example.org/plan.pdf`. Only where a person types: what comes through a pipe may name
 * files that nobody wanted to show.
 */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";

const MENTION = /(?<=^|[\s([{'])@(?:"(?<quoted>[^"\n]+)"|(?<plain>[^\s"@][^\s"]*))/g;
/** What belongs to the sentence rather than to the name. */
const BEHIND = /[.,;:!?)\]}']+$/;

/** Their paths and addresses, each once; a word that names no file is a word. */
export async function mentionedFiles(text: string, folder: string): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const { groups } of text.matchAll(MENTION)) {
    const name = groups?.["quoted"] ?? groups?.["plain"] ?? "";
    if (isAddress(name)) found.add(name.replace(BEHIND, ""));
    for (const candidate of new Set([name, name.replace(BEHIND, "")])) {
      const path = resolve(folder, candidate);
      if (candidate === "" || !(await isFile(path))) continue;
      found.add(path);
      break;
    }
  }
  return [...found];
}

/** What a person would type to attach a file: for what was asked for before there was a line to type in. */
export function mentionOf(source: string): string {
  return /[\s"]/.test(source) ? `@"${source}"` : `@${source}`;
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
