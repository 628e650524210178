/** Links of the documents name files and headings that exist. */

import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");
const pages = [
  ...globSync(["*.md", "examples/*.md", "docs/*.md", "docs/decisions/*.md"], { cwd: root }),
].map((page) => join(root, page));

const packLists = z.tuple([z.object({ files: z.array(z.object({ path: z.string() })) })]);

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

interface Link {
  readonly page: string;
  readonly target: string;
  readonly file: string;
  readonly anchor: string | undefined;
}

/** The links and pictures of a page inside the repository. */
function linksOf(page: string): readonly Link[] {
  const links = withoutCode(readFileSync(page, "utf8")).matchAll(
    /\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g,
  );
  return [...links].flatMap(([, link, source]) => {
    const target = link ?? source ?? "";
    if (/^\w+:/.test(target)) return [];
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    return [{ page: relative(root, page), target, file, anchor }];
  });
}

const named = ({ page, target }: Link): string => `${page}: ${target}`;

it("links lead to files and headings that exist", () => {
  const links = pages.flatMap(linksOf);
  expect(links.length).toBeGreaterThan(200);
  const dead = links.filter(
    ({ file, anchor }) =>
      !existsSync(file) || !isShown(file) || (anchor !== undefined && !anchorsOf(file).has(anchor)),
  );
  expect(dead.map(named)).toEqual([]);
});

it("links of the packed documents lead to packed files", async () => {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: root });
  const [packed] = packLists.parse(JSON.parse(stdout));
  const files = new Set(packed.files.map(({ path }) => join(root, path)));
  const links = [...files].filter((file) => file.endsWith(".md")).flatMap(linksOf);
  expect(links.length).toBeGreaterThan(100);
  expect(links.filter(({ file }) => !files.has(file)).map(named)).toEqual([]);
});
