/** What a clone has before anything is built: the `turnlog` command runs its sources there. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let clone = "";

/** As the shebang does, in the clone. */
async function turnlog(args: readonly string[], node: readonly string[] = []): Promise<Outcome> {
  const command = [...node, join(clone, "bin/turnlog.cjs"), ...args];
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, command, { cwd: clone }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), "turnlog-clone-"));
  for (const part of ["bin", "src", "package.json"]) {
    await cp(join(root, part), join(clone, part), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
});
afterAll(async () => {
  await rm(clone, { recursive: true });
});

describe("the turnlog command of a clone that was never built", () => {
  it("does what the README says, from the sources", async () => {
    const asked = await turnlog(["--session", "one", "--model", "offline", "list all files"]);
    expect(asked.code).toBe(0);
    expect(asked.stdout).toContain("package.json");
    const listed = await turnlog(["sessions"]);
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toMatch(/^one .* list all files$/m);
  });

  it("says in one line what to do where Node does not read the sources", async () => {
    const preload = join(clone, "no-types.cjs");
    await writeFile(
      preload,
      'Object.defineProperty(process.features, "typescript", { value: false });',
    );
    const { code, stdout, stderr } = await turnlog(["sessions"], ["--require", preload]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^turnlog is not built here, .*`npm run build`.*`npm start --`.*\n$/);
  });

  it("loads the build as soon as there is one", async () => {
    await mkdir(join(clone, "dist/cli"), { recursive: true });
    await writeFile(join(clone, "dist/cli/main.js"), 'console.log("built");');
    expect(await turnlog([])).toEqual({ code: 0, stdout: "built\n", stderr: "" });
  });
});
