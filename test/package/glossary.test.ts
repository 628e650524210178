/** File names speak the language of docs/design.md: its glossary, and a committed list of plain words. */

import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { plainWords } from "./plain-words.ts";

const root = new URL("../../", import.meta.url);

/** The words in the names of the files and folders of `src`. */
async function nameWords(): Promise<readonly string[]> {
  const files = await readdir(new URL("src", root), { recursive: true });
  const names = files.filter((file) => file.endsWith(".ts")).map((file) => file.slice(0, -3));
  return [...new Set(names.flatMap((name) => name.split(/[/\\-]/)))].toSorted();
}

/** The terms in bold in the first column of the tables of words. */
async function glossary(): Promise<ReadonlySet<string>> {
  const text = await readFile(new URL("docs/design.md", root), "utf8");
  const section = text.slice(text.indexOf("## Words"), text.indexOf("## The modules"));
  const cells = [...section.matchAll(/^\| ([^|]*) \|/gmu)].map(([, cell = ""]) => cell);
  const terms = cells.flatMap((cell) => [...cell.matchAll(/\*\*([^*]+)\*\*/gu)]);
  return new Set(terms.flatMap(([, term = ""]) => term.toLowerCase().split(/[^\w]+/u)));
}

function isExplained(word: string, terms: ReadonlySet<string>): boolean {
  const singular = [word.replace(/ies$/u, "y"), word.replace(/es$/u, ""), word.replace(/s$/u, "")];
  return [word, ...singular].some((form) => terms.has(form));
}

it("every word of a file name is plain or in the glossary", async () => {
  const terms = await glossary();
  expect(terms.size).toBeGreaterThan(80);
  const unknown = (await nameWords()).filter(
    (word) => !plainWords.has(word) && !isExplained(word, terms),
  );
  expect(
    unknown,
    "explain these words in docs/design.md, or add plain ones to test/package/plain-words.ts",
  ).toEqual([]);
});
