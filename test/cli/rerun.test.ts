/** `turnlog rerun`: a turn again from the command line, in a session of its own. */

import { expect, it } from "vitest";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

it("runs the last turn again in a fork, shows what is new of it, and leaves the session as it was", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run(["--session", "one", "list the files"], { cwd });
  const before = await run(["show", "one", "--view", "events", "--json"], { cwd });
  const again = await run(["rerun", "one", "--id", "two"], { cwd });
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toContain("a.txt");
  expect(again.stderr).toMatch(/Session two is a fork of one at position \d+/);
  expect((await run(["show", "one", "--view", "events", "--json"], { cwd })).stdout).toBe(
    before.stdout,
  );
  const second = await run(["rerun", "one", "--step", "2", "--id", "three", "--json"], { cwd });
  expect(second).toMatchObject({ code: 0 });
  const events = jsonLines(second.stdout);
  const named = await run(["rerun", "one"], { cwd });
  expect(named.stderr).toMatch(/Session one-[0-9a-f]{8} is a fork of one/);
  // The call of the first step is shared, and is not made again.
  expect(JSON.stringify(events)).not.toContain("tool.started");
  expect(JSON.stringify(events.at(-1))).toContain("turn.ended");
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
});

it("says what is wrong with a place or a session, and makes nothing", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  expect(await run(["rerun", "one"], { cwd })).toMatchObject({ code: 1 });
  await run(["--session", "one", "hello"], { cwd });
  for (const [args, code] of [
    [["rerun", "one", "--step", "9"], "INVALID_INPUT"],
    [["rerun", "one", "--position", "1"], "INVALID_INPUT"],
    [["rerun", "none"], "SESSION_NOT_FOUND"],
    [["rerun", "one", "--id", "one"], "REVISION_CONFLICT"],
  ] as const) {
    const ended = await run(args, { cwd });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain(`[${code}]`);
  }
  expect(await run(["rerun", "one", "--step", "1", "--position", "5"], { cwd })).toMatchObject({
    code: 2,
  });
  const { stdout } = await run(["sessions", "--json"], { cwd });
  expect(jsonLines(stdout)).toHaveLength(1);
});

it("runs a turn again with the agent of a module, with other instructions, with another model", async () => {
  const testing = JSON.stringify(new URL("../../src/public/testing.ts", import.meta.url));
  await using folder = await temporaryFolder({
    "agent.mjs": `import { scriptedModel } from ${testing};
export const agent = {
  model: scriptedModel(({ prompt: [{ content }] }) => \`I am told: \${content}\`),
  instructions: "Book.",
};
`,
    "brief.md": "Be brief.\n",
  });
  const cwd = folder.path;
  const env = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
  await run(["--session", "one", "hello"], { cwd });
  const own = ["rerun", "one", "--agent", "./agent.mjs"];
  // The module names a model: the environment is not asked for one.
  expect(await run(own, { cwd, env })).toMatchObject({ code: 0, stdout: "I am told: Book.\n" });
  expect(await run([...own, "--instructions", "brief.md"], { cwd })).toMatchObject({
    stdout: "I am told: Be brief.\n",
  });
  const offline = await run([...own, "--model", "offline"], { cwd });
  expect(offline.stdout).not.toContain("I am told");
  expect(offline.stderr).not.toContain("No OPENAI_API_KEY");
  const chat = ["rerun", "one", "--id", "brief", "--instructions", "brief.md"];
  expect(await run(chat, { cwd })).toMatchObject({ code: 0 });
  const prompt = await run(["show", "brief", "--view", "prompt"], { cwd });
  expect(prompt.stdout).toContain("Be brief.");
  const writing = await run([...own, "--allow-write"], { cwd });
  expect(writing).toMatchObject({ code: 2, stdout: "" });
});
