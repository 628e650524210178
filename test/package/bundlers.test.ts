/** The settings of docs/bundlers.md, with the packed package: each bundler writes a file that runs a durable session. */

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanEnvironment } from "../cli/command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "../cli/temporary-folder.ts";
import { packed } from "../support/packed.ts";
import { long } from "../support/runs.ts";

const needs = long ? "" : " (needs `npm run test:installs`, which installs from the registry)";

const program = `
  import { createRuntime } from "turnlog";
  import { scriptedModel } from "turnlog/testing";
  export const answer = async () => {
    const runtime = await createRuntime({ dir: "store", agent: { model: scriptedModel(["It runs."]) } });
    const session = await runtime.session("s" + Date.now());
    const { text } = await (await session.send("Go.")).result;
    await runtime.close();
    return text;
  };
  if (process.argv[2] === "run") console.log(await answer());
`;

const everythingInside = `export default {
  ssr: { noExternal: true, external: ["turnlog"] },
  build: { ssr: "program.js", outDir: "out-inside" },
};`;

interface Bundler {
  readonly args: readonly string[];
  readonly file: string;
}

const bundlers: Readonly<Record<string, Bundler>> = {
  "esbuild --packages=external": {
    args: "esbuild program.js --bundle --platform=node --format=esm --packages=external --outfile=out/es.js".split(
      " ",
    ),
    file: "out/es.js",
  },
  "esbuild --external:turnlog": {
    args: "esbuild program.js --bundle --platform=node --format=esm --external:turnlog --outfile=out/es2.js".split(
      " ",
    ),
    file: "out/es2.js",
  },
  "Vite (SSR) without settings": {
    args: "vite build --ssr program.js --outDir out-vite".split(" "),
    file: "out-vite/program.js",
  },
  "Vite (SSR) with everything inside but turnlog": {
    args: "vite build --config inside.config.js".split(" "),
    file: "out-inside/program.js",
  },
  Rolldown: {
    args: [
      "rolldown",
      "program.js",
      "--platform=node",
      "--format=esm",
      "--external=turnlog",
      "--external=turnlog/testing",
      "--file=out/rolldown.js",
    ],
    file: "out/rolldown.js",
  },
};

describe.skipIf(!long)(`bundled with an application${needs}`, () => {
  let folder: TemporaryFolder;
  const run = async (command: string, args: readonly string[]): Promise<string> => {
    const options = { cwd: folder.at("app"), env: cleanEnvironment({}) };
    const { stdout } = await promisify(execFile)(command, [...args], options);
    return stdout;
  };

  beforeAll(async () => {
    folder = await temporaryFolder({
      "app/package.json":
        '{ "private": true, "type": "module", "allowScripts": { "esbuild": true } }',
      "app/program.js": program,
      "app/inside.config.js": everythingInside,
    });
    const { file } = await packed(folder.path);
    const packages = [file, "ai", "zod", "esbuild", "vite@8", "rolldown"];
    await run("npm", ["install", "--no-audit", "--no-fund", ...packages]);
  });
  afterAll(async () => await folder[Symbol.asyncDispose]());

  it.each(Object.entries(bundlers))("%s", async (_, { args: [command = "", ...args], file }) => {
    await run(join(folder.at("app"), "node_modules/.bin", command), args);
    const bundle = await readFile(folder.at(`app/${file}`), "utf8");
    expect(bundle).toMatch(/from ?"turnlog"/);
    expect(await run(process.execPath, [file, "run"])).toBe("It runs.\n");
  });

  it("Vite's development server loads it as it is", async () => {
    const server = `
      import { createServer } from "vite";
      const server = await createServer({ server: { middlewareMode: true }, appType: "custom", configFile: false });
      const { answer } = await server.ssrLoadModule("/program.js");
      console.log(await answer());
      await server.close();`;
    await writeFile(folder.at("app/develop.js"), server);
    expect(await run(process.execPath, ["develop.js"])).toBe("It runs.\n");
  });
});
