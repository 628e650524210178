/** `turnlog replay`: a session as it was seen, or held against the agent that has it now. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLog } from "../../src/public/index.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { jsonLines, run, sessionOf, start, type Ended } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const HOUR = 3_600_000;

let folder: TemporaryFolder;
let session: string;
let turn: Ended;

beforeAll(async () => {
  folder = await temporaryFolder({ "a.ts": "zod\n", "b.ts": "zod\nzod\n" });
  turn = await run(["which files mention zod?"], { cwd: folder.path });
  session = sessionOf(turn);
  await using log = await openLog({ dir: join(folder.path, ".turnlog"), create: false });
  const recorded = await readFixture("approvals");
  await log.append("recorded", "none", recorded);
  const begun = recorded.findIndex(({ type }) => type === "step.started");
  const late = recorded.map((event, at) =>
    at < begun ? event : { ...event, time: event.time + HOUR },
  );
  await log.append("late", "none", late);
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

async function replay(...args: readonly string[]): Promise<Ended> {
  return await run(["replay", ...args], { cwd: folder.path });
}

describe("replay", () => {
  it("shows a turn with the words with which the chat showed it", async () => {
    const { code, stdout, stderr } = await replay(session);
    expect(code).toBe(0);
    expect(stdout).toBe(turn.stdout);
    expect(stderr).toContain("> which files mention zod?\n");
    // The chat's first lines tell of itself.
    const told = turn.stderr.slice(turn.stderr.indexOf("→"));
    expect(stderr).toContain(told);
  });

  it("shows what people have said and answered, and how it went", async () => {
    const { stdout, stderr } = await replay("recorded");
    expect(stdout).toContain("Ulm is booked, Bonn is not.");
    expect(stderr).toContain("> Book Ulm and Bonn.\n");
    expect(stderr).toContain("> no: one bed is enough\n");
    expect(stderr).toContain(
      "> no: never in a hurry\nFrom now on quick is refused in this session.\n",
    );
  });

  it("prints the events as JSON, in the time that they took at a factor", async () => {
    const { code, stdout } = await replay("recorded", "--json", "--pace", "1000");
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toEqual(await readFixture("approvals"));
  });

  it("is left with Ctrl-C by exit code 130, while it waits for its time", async () => {
    const running = start(["replay", "late", "--pace", "recorded"], { cwd: folder.path });
    await running.until("stderr", /> Book Ulm/);
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130, signal: null });
  });

  it("refuses an invalid pace", async () => {
    for (const pace of ["0", "-1", "fast"]) {
      expect(await replay("recorded", "--pace", pace)).toMatchObject({ code: 2, stdout: "" });
    }
  });

  it("says that there is no such session", async () => {
    const ended = await replay("nobody");
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain("SESSION_NOT_FOUND");
  });
});

describe("replay --check", () => {
  it("finds that the chat's agent does again what it did", async () => {
    const { code, stdout, stderr } = await replay(session, "--check");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Session \S+ is repeated exactly: \d+ events\.\n$/);
  });

  it("tells the first difference of another agent with both sides, and ends with exit code 1", async () => {
    const file = join(folder.path, "agent.mjs");
    const model = { specificationVersion: "v4", provider: "turnlog", modelId: "offline" };
    await writeFile(file, `export const agent = { model: ${JSON.stringify(model)} };\n`);
    const { code, stdout, stderr } = await replay(session, "--check", "--agent", file);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/^The instructions have changed\. The tool \S+ is gone\./);
    expect(stdout).toMatch(
      /^At position 1 the session was\n {2}session\.created .*"search_files"/m,
    );
    const json = await replay(session, "--check", "--agent", file, "--json");
    expect(json.code).toBe(1);
    expect(jsonLines(json.stdout)).toMatchObject([
      {
        session,
        events: 0,
        difference: { position: 1, recorded: { position: 1 }, replayed: { position: 1 } },
      },
    ]);
  });

  it("allows edited instructions by name, and only in a check", async () => {
    const edited = { cwd: folder.path, env: { INSTRUCTIONS: "Be brief." } };
    const differs = await run(["replay", session, "--check"], edited);
    expect(differs.code).toBe(1);
    expect(differs.stderr).toContain("the agent of `turnlog chat`");
    expect(differs.stdout).toMatch(
      /^The instructions have changed\. Line 1 of the instructions was .+ and is "Be brief\."\.\n/,
    );
    const allowed = await run(["replay", session, "--check", "--allow", "instructions"], edited);
    expect(allowed).toMatchObject({ code: 0 });
    expect(await replay(session, "--allow", "instructions")).toMatchObject({ code: 2 });
    expect(await replay(session, "--check", "--allow", "prompts")).toMatchObject({ code: 2 });
  });

  it("says when a module has no agent", async () => {
    const file = join(folder.path, "empty.mjs");
    await writeFile(file, "export const other = 1;\n");
    const ended = await replay(session, "--check", "--agent", file);
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain("has no agent");
    expect(await readFile(file, "utf8")).toContain("other");
  });
});
