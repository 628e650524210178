/** The test that docs/testing.md shows is run here as it stands there, in a project of their own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, symlink } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createRuntime, exportFixture, type Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { patience } from "../support/runs.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The block of a page that has the test. */
async function shownTest(page: string, name: string): Promise<string> {
  const text = await readFile(`${root}${page}`, "utf8");
  const [block] = [...text.matchAll(/```ts\n([\s\S]*?)```/g)]
    .map(([, code = ""]) => code)
    .filter((code) => code.includes(name));
  if (block === undefined) throw new Error(`${page} shows no such test.`);
  return block;
}

function agentModule(instructions: string): string {
  return `import { scriptedModel } from "turnlog/testing";
export const agent = { model: scriptedModel([]), instructions: ${JSON.stringify(instructions)} };
`;
}

const config = `import { defineConfig } from "vitest/config";
const src = ${JSON.stringify(`${root}src/`)};
export default defineConfig({
  // A loaded machine is no failure of the test that is shown.
  test: {
    testTimeout: ${patience},
    isolate: false,
    maxWorkers: 1,
    // Node loads the sources itself: vitest would transform every file of them.
    server: { deps: { external: [/\\/src\\/.*\\.ts$/] } },
  },
  resolve: {
    alias: [
      { find: /^turnlog$/, replacement: src + "public/index.ts" },
      { find: /^turnlog\\/testing$/, replacement: src + "public/testing.ts" },
    ],
  },
});
`;

async function talk(): Promise<string> {
  const agent: Agent = { model: scriptedModel(["Shipped."]), instructions: "You ship releases." };
  await using runtime = await createRuntime({ memory: true, agent });
  const session = await runtime.session("release-42");
  await (
    await session.send("Ship it")
  ).result;
  return (await exportFixture(runtime.log, session.id)).join("\n");
}

async function vitest(cwd: string): Promise<{ readonly code: unknown; readonly text: string }> {
  const bin = `${root}node_modules/vitest/vitest.mjs`;
  const child = spawn(process.execPath, [bin, "run", "--root", cwd], {
    cwd,
    env: cleanEnvironment({ NO_COLOR: "1" }),
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  }
  const [code] = (await once(child, "close")) as [unknown];
  return { code, text };
}

it("the test of docs/testing.md passes for the agent that it is for, and says what another does", async () => {
  const test = await shownTest("docs/testing.md", "the agent does what it did");
  const lines = test.split("\n").filter((line) => line !== "");
  expect(lines.length).toBeLessThanOrEqual(10);
  const fixture = await talk();
  await using folder = await temporaryFolder({
    "same/talk.test.ts": test,
    "same/agent.ts": agentModule("You ship releases."),
    "other/talk.test.ts": test,
    "other/agent.ts": agentModule("You never ship."),
    "talk.jsonl": fixture,
    "vitest.config.ts": config,
    "package.json": '{ "type": "module" }\n',
  });
  await symlink(`${root}node_modules`, folder.at("node_modules"));
  const { code, text } = await vitest(folder.path);
  expect(code).toBe(1);
  expect(text).toContain("1 failed | 1 passed");
  expect(text).toContain("FAIL  other/talk.test.ts > the agent");
  expect(text).toContain("session.created");
});
