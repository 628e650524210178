/** What the package exports is explained where it is declared: the words that editors show. */

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const source = fileURLToPath(new URL("../../src/", import.meta.url));
const entries = [
  "index.ts",
  "client.ts",
  "events.ts",
  "postgres.ts",
  "projections.ts",
  "protocols.ts",
  "server.ts",
  "sqlite.ts",
  "testing.ts",
  "ui.ts",
].map((name) => `public/${name}`);

const declaration =
  /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?:\/\/.*\n)*)?^export (?:interface|type|const|class|(?:async )?function\*?) (\w+)/gm;
const forwarding = /^export (?:type )?\{([^}]*)\} from "(.+)";/gm;

interface Declared {
  readonly file: string;
  readonly name: string;
  readonly isExplained: boolean;
  /** The names that its docstring links to. */
  readonly links: readonly string[];
  /** `shown-code.test.ts` compiles it. */
  readonly hasExample: boolean;
}

/** What a file exports, by its name there, each where it is declared. */
async function exportsOf(file: string): Promise<ReadonlyMap<string, Declared>> {
  const text = await readFile(join(source, file), "utf8");
  const found = new Map<string, Declared>();
  for (const [, comment, name = ""] of text.matchAll(declaration)) {
    const hasExample = comment?.includes("@example") ?? false;
    const links = [...(comment ?? "").matchAll(/\{@link (\w+)/g)].map(([, to = ""]) => to);
    found.set(name, { file, name, isExplained: comment !== undefined, links, hasExample });
  }
  for (const [, names = "", path = ""] of text.matchAll(forwarding)) {
    const declared = await exportsOf(join(dirname(file), path));
    for (const one of names.split(",").filter((name) => name.trim() !== "")) {
      const [, there = "", , here = there] = /(\w+)(\s+as\s+(\w+))?$/.exec(one.trim()) ?? [];
      const known = declared.get(there);
      if (known !== undefined) found.set(here, known);
    }
  }
  return found;
}

describe("what the package exports", () => {
  it.each(entries)("is explained where it is declared, with an example: %s", async (entry) => {
    const exported = await exportsOf(entry);
    expect(exported.size).toBeGreaterThan(0);
    const bare = [...exported.values()].filter((one) => !one.isExplained || !one.hasExample);
    expect(bare.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
  });

  it("is explained where engines use it; `docs/engines.md` is the example", async () => {
    const exported = await exportsOf("public/engine.ts");
    const bare = [...exported.values()].filter((one) => !one.isExplained);
    expect(bare.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
  });

  // The site's build refuses a dead link, but needs tools that are not installed here.
  it("links to names that are exported", async () => {
    const all = await Promise.all([...entries, "public/engine.ts"].map(exportsOf));
    const names = new Set(all.flatMap((exported) => [...exported.keys()]));
    const dead = all.flatMap((exported) =>
      [...exported.values()].flatMap(({ file, name, links }) =>
        links.filter((to) => !names.has(to)).map((to) => `${file}: ${name} links to ${to}`),
      ),
    );
    expect(dead).toEqual([]);
  });
});

it.each(["CONTRIBUTING.md", "docs/design.md"])("%s names files that exist", async (document) => {
  const root = new URL("../../", import.meta.url);
  const text = await readFile(new URL(document, root), "utf8");
  const files = [...new Set(text.match(/\b(?:src|test)\/[\w/.-]+\.ts\b/g))];
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
});

it("docs/design.md names every folder of src in its tree", async () => {
  const text = await readFile(new URL("../../docs/design.md", import.meta.url), "utf8");
  const [, tree = ""] = /```text\nsrc\/\n(.*?)```/su.exec(text) ?? [];
  const named = new Set(tree.match(/[\w-]+(?=\/)/gu));
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(folders.length).toBeGreaterThan(50);
  expect(folders.filter((name) => !named.has(name))).toEqual([]);
});

it("CONTRIBUTING.md walks through at most 20 files each time, and counts them", async () => {
  const text = await readFile(new URL("../../CONTRIBUTING.md", import.meta.url), "utf8");
  const [, ...walks] = text.split(/^\*\*One /m);
  const lengths = walks.map((walk) => {
    const [own = ""] = walk.split("\n## ");
    const steps = own.match(/^\d+\. .*$/gm)?.join("\n") ?? "";
    return new Set(steps.match(/\bsrc\/[\w/.-]+\.ts\b/g)).size;
  });
  expect(lengths).toEqual(walks.map((walk) => Number(/: (\d+) files\./.exec(walk)?.[1])));
  expect(lengths).toHaveLength(2);
  for (const length of lengths) expect(length).toBeLessThanOrEqual(20);
});
