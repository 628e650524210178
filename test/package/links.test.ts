/** Links of the documents name files and headings that exist. */

import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const pages = [
  ...globSync(["*.md", "examples/*.md", "docs/*.md", "docs/decisions/*.md"], { cwd: root }),
].map((page) => join(root, page));

const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, "");

/** The anchors of a page's headings, as GitHub and npm make them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = withoutCode(readFileSync(page, "utf8")).matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** The site has one page for a folder, its index of decisions; `npm run docs` fails at a link to another folder. */
function isShown(path: string): boolean {
  return !statSync(path).isDirectory() || join(path) === join(root, "docs/decisions/");
}

/** The links of a page that lead nowhere. */
function deadLinks(page: string): readonly string[] {
  const links = withoutCode(readFileSync(page, "utf8")).matchAll(
    /\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g,
  );
  return [...links].flatMap(([, link, source]) => {
    const target = link ?? source ?? "";
    if (/^\w+:/.test(target)) return [];
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    const isFound =
      existsSync(file) && isShown(file) && (anchor === undefined || anchorsOf(file).has(anchor));
    return isFound ? [] : [`${relative(root, page)}: ${target}`];
  });
}

it("links lead to files and headings that exist", () => {
  expect(pages.length).toBeGreaterThan(60);
  expect(pages.flatMap(deadLinks)).toEqual([]);
});
