/** What each command loads: looking at a store must not wait for SDKs, and help for nothing at all. */
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { runProcess, sessionOf } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The sources: the build has packages in its own files. */
const program = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

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
process.on("exit", () => {
  // Node's client of the web, which an import of node:http loads.
  if (process.moduleLoadList.some((name) => name.includes("undici"))) loaded.add("undici");
  process.stderr.write("loaded:" + [...loaded].join(",") + "\\n");
});
`;

async function loadedBy(
  args: readonly string[],
  cwd: string,
  hook: string,
): Promise<readonly string[]> {
  const { stderr } = await runProcess(args, {
    cwd,
    program,
    node: ["--import", pathToFileURL(hook).href],
  });
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

    const mcp = "@modelcontextprotocol/client";
    const heavy = ["undici", "ai", "@ai-sdk/openai", "@ai-sdk/google", mcp];
    for (const args of [["sessions"], ["show", session], ["show", session, "--view", "prompt"]]) {
      const loaded = await loadedBy(args, folder.path, hook);
      expect(loaded).toContain("classic-level");
      expect(loaded.filter((name) => heavy.includes(name))).toEqual([]);
    }

    const turn = await loadedBy(["list all files"], folder.path, hook);
    expect(turn.filter((name) => heavy.includes(name) && name !== "undici")).toEqual(["ai"]);
  });
});

/** Writes the megabytes of the young generation to stderr, after work for which V8 lets it grow. */
const heapSpy = `
import { getHeapSpaceStatistics } from "node:v8";
process.on("exit", () => {
  const kept = [];
  for (let n = 0; n < 1e6; n++) kept[n % 2e5] = { n };
  // What is collected and not given back yet depends on what V8's threads had time for.
  gc();
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  process.stderr.write("young:" + young.space_size / 2 ** 20 + "\\n");
});
`;

it("keeps the heap of commands that walk through whole sessions small", async () => {
  await using folder = await temporaryFolder({ "spy.mjs": heapSpy });
  const node = ["--expose-gc", "--import", pathToFileURL(folder.at("spy.mjs")).href];
  const young = async (command: string): Promise<number> => {
    const { stderr } = await runProcess([command, "no-such"], { cwd: folder.path, node });
    return Number(/^young:(.*)$/m.exec(stderr)?.[1]);
  };
  const usual = await young("show");
  for (const command of ["verify", "import"]) expect(await young(command)).toBeLessThan(usual / 4);
});
