/**
 * Every script that measures starts and tells its figures at its smallest size, and every script that tests
 * finds its files. Only in a long run: together they take minutes.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { installedPostgres } from "../support/postgres-server.ts";
import { long } from "../support/runs.ts";

const root = join(import.meta.dirname, "../..");
const packageSchema = z.object({ scripts: z.record(z.string(), z.string()) });
const { scripts } = packageSchema.parse(
  JSON.parse(await readFile(join(root, "package.json"), "utf8")),
);
const named = (prefix: string): readonly string[] =>
  Object.keys(scripts).filter((name) => name === prefix || name.startsWith(`${prefix}:`));

const hasChromium = existsSync(process.env["TURNLOG_CHROMIUM"] ?? "/usr/bin/chromium");

interface Smallest {
  readonly args: string;
  /** In what it prints. */
  readonly says: string;
  /** Why it cannot run here. */
  readonly lacks?: string | undefined;
}

const one = "--rounds 1 --steps 10 --crowd 10";
const smallest: Readonly<Record<string, readonly Smallest[]>> = {
  bench: [
    { args: one, says: "CPU of a step ÷ the bare loop's" },
    { args: `${one} --quick`, says: "CPU of a step ÷ the bare loop's" },
    { args: `${one} --since HEAD`, says: "now ÷ before" },
  ],
  "bench:bill": [{ args: "--sessions 50 --rounds 1", says: "the bill of 50 sessions" }],
  // Its verdict, which a busy machine may change, is not what is asked here.
  "bench:guard": [{ args: "", says: "CPU of a step ÷ the bare loop's" }],
  "bench:micro": [{ args: "--rounds 1", says: "all folds of a delta" }],
  "bench:peers": [{ args: "--only turnlog,json --runs 1 --steps 10 --out peers", says: "turnlog" }],
  "bench:server": [{ args: "--sessions 5 --seconds 1 --followers 2", says: "CPU" }],
  "bench:postgres": [
    {
      args: "--part bytes",
      says: "bytes",
      lacks: installedPostgres() === undefined ? "PostgreSQL is not installed" : undefined,
    },
  ],
  "bench:studio": [
    { args: "", says: "gzipped", lacks: hasChromium ? undefined : "Chromium is not installed" },
  ],
};

describe.runIf(long)("scripts of package.json", () => {
  let clone = "";

  beforeAll(async () => {
    clone = await mkdtemp(join(tmpdir(), "turnlog-scripts-"));
    await promisify(execFile)("git", ["clone", "--quiet", root, clone]);
    // As they are, not as they were committed.
    for (const part of ["bench", "src", "package.json"])
      await cp(join(root, part), join(clone, part), { recursive: true });
    await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  });
  afterAll(async () => {
    await rm(clone, { recursive: true });
  });

  it("all that measure are known here", () => {
    expect(named("bench").toSorted()).toEqual(Object.keys(smallest).toSorted());
  });

  async function output(command: string, words: readonly string[]): Promise<string> {
    return await new Promise((resolve) => {
      execFile(command, words, { cwd: clone, maxBuffer: 2 ** 26 }, (_, stdout, stderr) => {
        resolve(`${stdout}\n${stderr}`);
      });
    });
  }

  describe.each(Object.entries(smallest))("%s", (name, sizes) => {
    for (const { args, says, lacks } of sizes) {
      const why = lacks === undefined ? "" : `: ${lacks}`;
      it.skipIf(lacks !== undefined)(`starts with "${args}"${why}`, async () => {
        const words = args.split(" ").filter((word) => word !== "");
        const told = await output("npm", ["run", "--silent", name, "--", ...words]);
        expect(told).toContain(says);
        expect(told).not.toMatch(/^\w*Error\b/m);
      });
    }
  });

  it.each(named("test").filter((name) => scripts[name]?.includes("vitest run")))(
    "%s finds its files",
    async (name) => {
      const words = (scripts[name] ?? "").replace(/^.*vitest run/, "").split(" ");
      const told = [
        "vitest",
        "list",
        "--filesOnly",
        ...words.filter((word) => word !== "" && !word.startsWith("--reporter")),
      ];
      expect(await output("npx", told)).toMatch(/\.test\.ts$/m);
    },
  );

  it.each(named("test").filter((name) => scripts[name]?.startsWith("node ")))(
    "%s has its program",
    (name) => {
      const [program = ""] = /\S+\.ts/.exec(scripts[name] ?? "") ?? [];
      expect(existsSync(join(clone, program))).toBe(true);
    },
  );
});
