/** `turnlog init` puts the package's examples into a folder; `npm run test:installs` installs, tests and builds them. */

import { readdir, readFile } from "node:fs/promises";
import { join, normalize, relative } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const examples = join(import.meta.dirname, "../../examples");

async function filesIn(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).toSorted();
}

const report = z.tuple([z.object({ folder: z.literal("shop"), files: z.array(z.string()) })]);

const pages = [
  ["none", {}],
  ["vite", { "page.tsx": "chat-server/page/page.tsx" }],
  [
    "next",
    {
      "app/api/[...path]/route.ts": "next/app/api/[...path]/route.ts",
      "app/page.tsx": "next/app/page.tsx",
    },
  ],
] as const;

it.each(pages)("with the page %s, its files are the examples", async (page, copies) => {
  await using folder = await temporaryFolder({});
  const args = ["init", "shop", "--page", page, "--database", "--ci", "--yes", "--json"];
  const { code, stdout, stderr } = await run(args, { cwd: folder.path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const files = await filesIn(folder.at("shop"));
  const [said] = report.parse(jsonLines(stdout));
  expect(said.files.map((name) => normalize(name)).toSorted()).toEqual(files);
  const agent = ["agent.ts", "agent.test.ts", "record.ts", "talk.jsonl"];
  const same = {
    ...Object.fromEntries(agent.map((name) => [name, `agent-test/${name}`])),
    ...copies,
  };
  for (const [name, example] of Object.entries<string>(same))
    expect(await readFile(folder.at(`shop/${name}`), "utf8")).toBe(
      await readFile(join(examples, example), "utf8"),
    );
  expect(said.files).toEqual(
    expect.arrayContaining([".github/workflows/test.yml", "compose.yaml"]),
  );
  if (page === "none") return;
  const server = page === "next" ? "shop/app/sessions.ts" : "shop/sessions.ts";
  const sessions = await readFile(folder.at(server), "utf8");
  expect(sessions).toMatch(/openPostgresLog\(\{[^]*agent: \{ \.\.\.agent, model:/);
});

it("asks nothing without a terminal, says what it makes, and what comes next", async () => {
  await using folder = await temporaryFolder({});
  const { code, stdout, stderr } = await run(["init", "My shop"], { cwd: folder.path });
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^Without a terminal nothing is asked: --page none, no --database, no --ci\.\nMade My shop: agent\.ts, /,
  );
  expect(stdout).toBe("  cd './My shop'\n  npm install\n  npm test\n");
  expect(await readFile(folder.at("My shop/package.json"), "utf8")).toContain('"name": "my-shop"');
});

it("overwrites no file: it names the first that is there, and makes none", async () => {
  await using folder = await temporaryFolder({ "shop/talk.jsonl": "mine", file: "" });
  const taken = await run(["init", "shop", "--yes"], { cwd: folder.path });
  expect(taken).toMatchObject({ code: 2, stdout: "" });
  expect(taken.stderr).toContain(`${join("shop", "talk.jsonl")} is there already`);
  expect(await filesIn(folder.at("shop"))).toEqual(["talk.jsonl"]);
  const file = await run(["init", "file", "--yes"], { cwd: folder.path });
  expect(file).toMatchObject({ code: 2 });
});

it("prints a line that a shell can take, and leaves nothing of a try that failed", async () => {
  await using folder = await temporaryFolder({ "page/app": "a file where a folder must be" });
  const odd = await run(["init", "it's $(id)", "--yes"], { cwd: folder.path });
  expect(odd.stdout).toContain(`cd './it'\\''s $(id)'`);
  const failed = await run(["init", "page", "--yes", "--page", "next"], { cwd: folder.path });
  expect(failed.code).not.toBe(0);
  expect(await filesIn(folder.at("page"))).toEqual(["app"]);
});
