/**
 * Finds the files that a typed message mentions: `@shot.png`, `@server:resource` of an MCP server, `@"my notes.md"` (`\"` for a quotation mark),
 * `@https://example.org/plan.pdf`. Only for typed messages: text from a pipe may name files that the user does not mean.
 */

import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { TurnlogError } from "../../../events/index.ts";

const MENTION = /(?<=^|[\s([{'])@(?:"(?<quoted>(?:\\"|[^"\n])+)"|(?<plain>[^\s"@][^\s"]*))/g;
/** Punctuation that ends the sentence and not the name. */
const PUNCTUATION = /[.,;:!?)\]}']+$/;

/**
 * The paths and addresses, each once. A word that names no file stays a word.
 * @throws TurnlogError `INVALID_INPUT` for a quoted name of no file: quotes show that a file is meant
 */
export async function mentionedFiles(
  text: string,
  folder: string,
  servers: readonly string[] = [],
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const { groups } of text.matchAll(MENTION)) {
    const quoted = groups?.["quoted"]?.replaceAll('\\"', '"');
    const name = quoted ?? groups?.["plain"] ?? "";
    const isElsewhere = isAddress(name) || servers.some((server) => name.startsWith(`${server}:`));
    const source = isElsewhere ? name.replace(PUNCTUATION, "") : await pathOf(name, folder);
    if (source !== undefined) found.add(source);
    else if (quoted !== undefined) {
      throw new TurnlogError(
        "INVALID_INPUT",
        `There is no file ${JSON.stringify(name)} here; nothing was sent. Put a space after the @ to send it as text.`,
      );
    }
  }
  return [...found];
}

/** The path of the mentioned file, with or without the punctuation after it. */
async function pathOf(name: string, folder: string): Promise<string | undefined> {
  for (const candidate of new Set([name, name.replace(PUNCTUATION, "")])) {
    const path = resolve(folder, candidate);
    if (candidate !== "" && (await isFile(path))) return path;
  }
  return undefined;
}

export function mentionOf(source: string): string {
  const isPlain = !/[\s"]|^@/.test(source);
  return isPlain ? `@${source}` : `@"${source.replaceAll('"', '\\"')}"`;
}

const DROPPED = /\.(?:png|jpe?g|webp|gif|pdf)$/i;
/** Characters. A longer text is not a list of paths, and would take long to read as one. */
const LONGEST_DROP = 8192;
/** As a shell would read it. */
const WORD = /(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g;

/**
 * Mentions of images and PDFs whose paths are all of a text, as terminals paste what is dragged on them: quoted,
 * escaped, or as `file:` addresses. Undefined for any other text.
 */
export function droppedFiles(text: string, folder: string): string | undefined {
  if (text.length > LONGEST_DROP) return undefined;
  // A mention has one line.
  const isDropped = (path: string): boolean =>
    DROPPED.test(path) && !path.includes("\n") && existsSync(resolve(folder, path));
  const whole = text.trim();
  const paths = isDropped(whole) ? [whole] : (whole.match(WORD) ?? []).map(pathOfWord);
  if (paths.length === 0 || !paths.every(isDropped)) return undefined;
  return paths.map((path) => `${mentionOf(path)} `).join("");
}

function pathOfWord(word: string): string {
  if (word.startsWith("file:///")) {
    try {
      return fileURLToPath(word);
    } catch {
      // Not the address of a file here: text.
      return word;
    }
  }
  return word.replaceAll(
    /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? escaped ?? "",
  );
}

export function isAddress(source: string): boolean {
  return /^https?:\/\/./i.test(source);
}

export async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    // Without access the file cannot be attached, so the word stays text.
    if (error instanceof Error) return false;
    throw error;
  }
}
