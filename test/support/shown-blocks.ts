/** The blocks of code that the README and the guides show. */

import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface ShownBlock {
  /** `docs/mcp.md` */
  readonly page: string;
  /** Of the first line of its code. */
  readonly line: number;
  /** The heading of the second level above it; empty before the first one. */
  readonly title: string;
  /** As the fence names it; empty without a name. */
  readonly language: string;
  readonly code: string;
}

export const shownPages: readonly string[] = [
  "README.md",
  "SECURITY.md",
  "UPGRADING.md",
  "examples/README.md",
  ...globSync("docs/*.md", { cwd: root }).toSorted(),
];

export function shownBlocks(page: string): readonly ShownBlock[] {
  const text = readFileSync(`${root}${page}`, "utf8");
  const found = text.matchAll(/^(?:## (?<title>.+)|```(?<language>.*)\n(?<code>[\s\S]*?)^```)$/gm);
  let title = "";
  return [...found].flatMap(({ groups = {}, index }) => {
    title = groups["title"] ?? title;
    const { language, code } = groups;
    if (language === undefined || code === undefined) return [];
    const line = text.slice(0, index).split("\n").length + 1;
    return [{ page, line, title, language, code }];
  });
}

/** The blocks of one language, those under one heading together, as a reader meets them. */
export function shownPrograms(page: string, language: string): readonly ShownBlock[] {
  return shownBlocks(page).reduce<readonly ShownBlock[]>((programs, block) => {
    if (block.language !== language) return programs;
    const last = programs.at(-1);
    return last?.title === block.title
      ? [...programs.slice(0, -1), { ...last, code: last.code + block.code }]
      : [...programs, block];
  }, []);
}
