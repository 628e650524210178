/** The site of the documents is built from a clone. It installs its own tools, so only in long runs. */

import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { cp, readFile, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { cleanEnvironment } from "../cli/command-line.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { long } from "../support/runs.ts";
import { publicNames } from "./public-names.ts";

const root = join(import.meta.dirname, "../..");
const needs = long ? "" : " (needs `npm run test:long`, which installs VitePress)";

it.skipIf(!long)(
  `\`npm run docs\` builds guides and reference without a dead link${needs}`,
  async () => {
    await using folder = await temporaryFolder({});
    const left = new Set(["node_modules", "dist", ".git", "docs/site/node_modules"]);
    const filter = (path: string): boolean => !left.has(relative(root, path));
    await cp(root, folder.at("clone"), { recursive: true, filter });
    await symlink(join(root, "node_modules"), folder.at("clone/node_modules"));
    const options = { cwd: folder.at("clone"), env: cleanEnvironment({}), maxBuffer: 2 ** 26 };
    await promisify(execFile)("npm", ["run", "docs"], options);
    const site = folder.at("clone/docs/site/dist");
    expect(await readFile(join(site, "docs/web.html"), "utf8")).toContain("useChat");
    for (const [entry, names] of Object.entries(publicNames)) {
      const page = await readFile(join(site, "reference", entry, "index.html"), "utf8");
      const missing = names.split(/\s+/).filter((name) => !page.includes(name));
      expect(missing).toEqual([]);
    }
    expect(gunzipSync(await readFile(join(site, "studio/answers.bin"))).byteLength).toBeGreaterThan(
      1e6,
    );
    // `docs/engines.md` is the example of what engines use.
    const reference = globSync("docs/site/pages/reference/!(engine)/*/*.md", {
      cwd: folder.at("clone"),
    });
    expect(reference.length).toBeGreaterThan(100);
    for (const page of reference) {
      expect(await readFile(folder.at(`clone/${page}`), "utf8"), page).toContain("# Example");
    }
  },
);
