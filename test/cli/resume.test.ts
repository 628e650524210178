/** A session outlives its process: another one continues with it. */
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { jsonLines, run, sessionOf, start } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { heldProvider } from "./held-provider.ts";
import { temporaryFolder } from "./temporary-folder.ts";

describe("--session", () => {
  it("continues with a session in another process: the model knows what was said before", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const first = await run(["which files mention zod?"], { cwd: folder.path });
    const session = sessionOf(first);
    expect(first.stderr).toContain(`New session ${session}`);
    const second = await run(["--session", session, "what did you do?"], { cwd: folder.path });
    expect(second.stderr).toContain(`Session ${session}`);
    expect(second.stderr).not.toContain("New session");
    expect(second.stdout).toMatch(/search_files.*"zod"/);
    const { stdout } = await run(["sessions"], { cwd: folder.path });
    expect(stdout).toContain("2 turns");
  });

  it("gives a new session the name that it is asked for", async () => {
    await using folder = await temporaryFolder();
    const { stderr } = await run(["--session", "release-42", "help me"], { cwd: folder.path });
    expect(stderr).toContain("New session release-42");
    const { stdout } = await run(["sessions"], { cwd: folder.path });
    expect(stdout).toMatch(/^release-42 /);
  });

  it("says that the last turn was interrupted when its process was killed, and continues", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider(2);
    const { args, env } = provider;
    const cut = ["--session", "cut", ...args, "which files mention zod?"];
    const killed = start(cut, { cwd: folder.path, env });
    await killed.until("stderr", /✓ search_files/);
    killed.child.kill("SIGKILL");
    await once(killed.child, "exit");

    const next = await run(["--session", "cut", "which files mention zod?"], { cwd: folder.path });
    expect(next.code).toBe(0);
    expect(next.stderr).toMatch(/process died during the last turn/);
    expect(next.stdout).toContain("a.ts");

    const shown = await run(["show", "cut", "--view", "events", "--json"], { cwd: folder.path });
    const types = readEvents(jsonLines(shown.stdout)).map(({ type }) => type);
    expect(types).toContain("session.recovered");
    expect(types.filter((type) => type === "turn.ended")).toHaveLength(2);

    const after = await run(["--session", "cut", "what did you do?"], { cwd: folder.path });
    expect(after.stderr).not.toMatch(/interrupted/);
  });
});
