/** What each command loads: looking at a store must not wait for SDKs, and help for nothing at all. */
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { runProcess, sessionOf } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Writes the packages that were loaded to stderr when the process ends. */
const spy = `
import { registerHooks } from "node:module";
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    const name = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1];
    if (name !== undefined) loaded.add(name);
    return next(url, context);
  },
});
process.on("exit", () => process.stderr.write("loaded:" + [...loaded].join(",") + "\\n"));
`;

async function loadedBy(
  args: readonly string[],
  cwd: string,
  hook: string,
): Promise<readonly string[]> {
  const { stderr } = await runProcess(args, { cwd, node: ["--import", pathToFileURL(hook).href] });
  const list = /^loaded:(.*)$/m.exec(stderr)?.[1];
  if (list === undefined) throw new Error(`Nothing was told: ${stderr}`);
  return list.split(",");
}

describe("what a command loads", () => {
  it("is no more than it needs", async () => {
    await using folder = await temporaryFolder({ "spy.mjs": spy });
    const hook = folder.at("spy.mjs");
    const session = sessionOf(await runProcess(["list all files"], { cwd: folder.path }));

    expect(await loadedBy(["--help"], folder.path, hook)).toEqual(["commander"]);
    expect(await loadedBy(["--version"], folder.path, hook)).toEqual(["commander"]);

    const heavy = ["ai", "@ai-sdk/openai", "@ai-sdk/google", "@ai-sdk/mcp"];
    for (const args of [["sessions"], ["show", session], ["show", session, "--view", "prompt"]]) {
      const loaded = await loadedBy(args, folder.path, hook);
      expect(loaded).toContain("classic-level");
      expect(loaded.filter((name) => heavy.includes(name))).toEqual([]);
    }

    const turn = await loadedBy(["list all files"], folder.path, hook);
    expect(turn.filter((name) => heavy.includes(name))).toEqual(["ai"]);
  });
});
