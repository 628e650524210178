/** The test that the README shows is run here as it stands there, in a project of its own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createRuntime, exportFixture, type Agent } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { patience } from "../support/runs.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The block that has the test. */
async function shownTest(): Promise<string> {
  const readme = await readFile(`${root}README.md`, "utf8");
  const [block] = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)]
    .map(([, code = ""]) => code)
    .filter((code) => code.includes("the agent does what it did"));
  if (block === undefined) throw new Error("The README shows no such test.");
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
  resolve: {
    alias: [
      { find: /^turnlog$/, replacement: src + "index.ts" },
      { find: /^turnlog\\/testing$/, replacement: src + "testing/index.ts" },
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

it(
  "the README's test passes for the agent that was recorded, and says what another does",
  { timeout: patience },
  async () => {
    const test = await shownTest();
    expect(
      test
        .trim()
        .split("\n")
        .filter((line) => line !== "").length,
    ).toBeLessThanOrEqual(10);
    await using folder = await temporaryFolder({
      "talk.test.ts": test,
      "agent.ts": agentModule("You ship releases."),
      "talk.jsonl": await talk(),
      "vitest.config.ts": config,
      "package.json": '{ "type": "module" }\n',
    });
    await symlink(`${root}node_modules`, folder.at("node_modules"));
    const same = await vitest(folder.path);
    expect(same.text).toContain("1 passed");
    expect(same.code).toBe(0);
    await writeFile(folder.at("agent.ts"), agentModule("You never ship."));
    const other = await vitest(folder.path);
    expect(other.code).toBe(1);
    expect(other.text).toContain("the agent does what it did");
    expect(other.text).toContain("session.created");
  },
);
