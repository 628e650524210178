/** The test of what is published takes a build that is there only where a new one would be the same. */

import { rm, utimes, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { hasFreshBuild } from "../support/packed.ts";

const read = {
  "bundle.ts": "",
  "browser-bundle.ts": "",
  "package.json": "{}",
  "tsconfig.json": "{}",
  "tsconfig.build.json": "{}",
  "node_modules/.package-lock.json": "{}",
  "studio/build.ts": "",
  "src/one.ts": "",
  "src/events/two.ts": "",
};
const built = ["dist/public/index.js", "dist/studio/index.html"];

it("a build is fresh until a source changes, is added or removed, or a part of the build is older or missing", async () => {
  await using tree = await temporaryFolder({
    ...read,
    ...Object.fromEntries(built.map((file) => [file, ""])),
  });
  const set = async (second: number, ...names: readonly string[]): Promise<void> => {
    for (const name of names) await utimes(tree.at(name), second, second);
  };
  const settle = async (): Promise<void> => {
    await set(100, ...Object.keys(read), "src", "src/events", "studio");
    await set(200, ...built);
  };
  await settle();
  expect(await hasFreshBuild(tree.path)).toBe(true);

  for (const changed of ["src/events/two.ts", "src/events", "package.json"]) {
    await set(300, changed);
    expect([changed, await hasFreshBuild(tree.path)]).toEqual([changed, false]);
    await settle();
  }
  // Built before the last change, though another part was built after it.
  await set(50, "dist/public/index.js");
  expect(await hasFreshBuild(tree.path)).toBe(false);
  // `turnlog studio` in a clone builds the studio alone.
  for (const part of built) {
    await settle();
    await rm(tree.at(part));
    expect([part, await hasFreshBuild(tree.path)]).toEqual([part, false]);
    await writeFile(tree.at(part), "");
  }
});
