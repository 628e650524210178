/** The tests that docs/testing.md shows are run here as they stand there, in a project of their own. */

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

it("the test and the walk of docs/testing.md pass for the agents that they are for, and say what others do", async () => {
  const test = await shownTest("docs/testing.md", "the agent does what it did");
  const lines = test.split("\n").filter((line) => line !== "");
  expect(lines.length).toBeLessThanOrEqual(10);
  const walk = await shownTest("docs/testing.md", "the agent asks before it books");
  const fixture = await talk();
  await using folder = await temporaryFolder({
    "same/talk.test.ts": test,
    "same/agent.ts": agentModule("You ship releases."),
    "other/talk.test.ts": test,
    "other/agent.ts": agentModule("You never ship."),
    "asking/walk.test.ts": walk,
    "asking/agent.ts": bookingAgent("book"),
    "unasked/walk.test.ts": walk,
    "unasked/agent.ts": bookingAgent("weather"),
    "talk.jsonl": fixture,
    "vitest.config.ts": config,
    "package.json": '{ "type": "module" }\n',
  });
  await symlink(`${root}node_modules`, folder.at("node_modules"));
  const { code, text } = await vitest(folder.path);
  expect(code).toBe(1);
  expect(text).toContain("2 failed | 2 passed");
  for (const failed of ["other/talk.test.ts", "unasked/walk.test.ts"])
    expect(text).toContain(`FAIL  ${failed} > the agent`);
  expect(text).toContain("session.created");
  expect(text).toContain("tool.approval-requested came where tool.started was due");
});

function bookingAgent(asking: string): string {
  return `import { tool } from "ai";
import { z } from "zod";
import { scriptedModel } from "turnlog/testing";
const inputSchema = z.object({ city: z.string() });
const execute = async ({ city }) => city;
export const agent = {
  model: scriptedModel([]),
  tools: { weather: tool({ inputSchema, execute }), book: tool({ inputSchema, execute }) },
  toolApproval: { [${JSON.stringify(asking)}]: "user-approval" },
};
`;
}
