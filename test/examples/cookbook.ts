/** `docs/cookbook.md`, whose blocks of code are the programs of `examples`. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
export const cookbookPath = "docs/cookbook.md";

const section = /(\]\(\.\.\/examples\/([\w/.-]+\.ts)\):\n\n```ts\n)[\s\S]*?(?=```)/g;

/** The page with the programs as they are now. The first comment of each is what the page says itself. */
export function cookbookPage(): string {
  const page = readFileSync(join(root, cookbookPath), "utf8");
  return page.replaceAll(section, (_, before: string, file: string) => {
    const program = readFileSync(join(root, "examples", file), "utf8");
    return before + program.replace(/^\/\*\*[\s\S]*?\*\/\n+/, "");
  });
}

/** What each program prints, as the page says it. */
export function shownOutputs(): readonly (readonly [file: string, output: string])[] {
  const shown = /\]\(\.\.\/examples\/([\w-]+)\.ts\)(?:(?!\n## )[\s\S])*?```text\n([\s\S]*?)```/g;
  return [...readFileSync(join(root, cookbookPath), "utf8").matchAll(shown)].map(
    ([, file = "", output = ""]) => [file, output],
  );
}
