/** A Node that is too old is turned away in one line, before it meets anything that it cannot read. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { assertNodeVersion } from "../../src/shared/index.ts";

const root = join(import.meta.dirname, "../..");
const manifest = z
  .object({
    engines: z.object({ node: z.string().startsWith(">=") }),
    scripts: z.object({ start: z.string().startsWith("node ") }),
  })
  .parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
const floor = manifest.engines.node.slice(">=".length);

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  node: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Outcome> {
  return await new Promise((resolve, reject) => {
    const child = execFile(node, args, { cwd: root, env }, (_error, stdout, stderr) => {
      if (child.exitCode === null) reject(new Error(`${node} did not exit by itself`));
      else resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

function refusal(version: string): Outcome {
  const hint = "Install a newer Node; in a clone, `npm start` uses the one that `npm ci` installs.";
  const stderr = `turnlog needs Node.js ${floor} or newer; this is ${version}. ${hint}\n`;
  return { code: 1, stdout: "", stderr };
}

describe("a Node of another version", () => {
  let folder = "";
  /** Runs this Node under the name of another version, set before anything of ours is loaded. */
  const runAs = async (version: string, args: readonly string[]): Promise<Outcome> => {
    const preload = join(folder, `${version}.cjs`);
    const versions = JSON.stringify({ ...process.versions, node: version.slice(1) });
    await writeFile(
      preload,
      `Object.defineProperty(process, "version", { value: "${version}" });
       Object.defineProperty(process, "versions", { value: ${versions} });`,
    );
    const env = { ...process.env, NODE_OPTIONS: `--require ${JSON.stringify(preload)}` };
    return await run(process.execPath, args, env);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "turnlog-node-version-"));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it.each(["v8.17.0", "v18.20.4", "v20.1.0", "v22.11.0"])(
    "is refused by the turnlog command as %s, in one line with both versions",
    async (version) => {
      expect(await runAs(version, ["bin/turnlog.cjs", "--help"])).toEqual(refusal(version));
    },
  );

  it("is refused by `npm start` with the same line", async () => {
    const [, ...args] = manifest.scripts.start.split(" ");
    expect(await runAs("v20.1.0", args)).toEqual(refusal("v20.1.0"));
  });

  it.each([`v${floor}`, "v22.20.1", "v24.0.0", "v100.0.0"])(
    "passes the check without a word as %s",
    async (version) => {
      const outcome = await runAs(version, ["bin/node-version.cjs"]);
      expect(outcome).toEqual({ code: 0, stdout: "", stderr: "" });
    },
  );
});

it.each([
  [
    "v20.1.0",
    `Node 20.1.0 is too old for turnlog: npm's scripts run on the Node ${process.version} installed here.\n`,
  ],
  ["v24.0.0", ""],
])("`npm ci` on Node %s says which one scripts run on", async (version, stdout) => {
  const env = { ...process.env, npm_config_user_agent: `npm/10.8.2 node/${version} linux x64` };
  const said = await run(process.execPath, ["installed-node.cjs"], env);
  expect(said).toEqual({ code: 0, stdout, stderr: "" });
});

describe("the library on a Node of another version", () => {
  it.each(["8.17.0", "20.20.2", "22.11.0"])("refuses %s with both versions", (version) => {
    expect(() => assertNodeVersion(version)).toThrow(
      expect.objectContaining({
        code: "NODE_TOO_OLD",
        message: `turnlog needs Node.js ${floor} or newer; this is ${version}. Install a newer Node.`,
      }),
    );
  });

  it.each([floor, "22.20.1", "24.0.0", "100.0.0"])("takes %s", (version) => {
    expect(() => assertNodeVersion(version)).not.toThrow();
  });
});

/** A Node on this machine's PATH that is older than the floor, if there is one. */
async function installedOldNode(): Promise<{ path: string; version: string } | undefined> {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const paths = folders.map((folder) => join(folder, "node")).filter((path) => existsSync(path));
  for (const path of paths) {
    const { stdout } = await promisify(execFile)(path, ["--version"]);
    const version = stdout.trim();
    if (Number.parseInt(version.slice(1), 10) < Number.parseInt(floor, 10)) {
      return { path, version };
    }
  }
  return undefined;
}

const old = await installedOldNode();

it("an old Node that is really installed gets as far as the refusal", async ({ skip }) => {
  if (old === undefined) return skip(`no Node older than ${floor} on the PATH`);
  expect(await run(old.path, ["bin/turnlog.cjs"])).toEqual(refusal(old.version));
});
