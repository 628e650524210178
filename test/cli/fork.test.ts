/** `turnlog fork`: a session that goes its own way, made at the command line and gone on with there. */

import { expect, it } from "vitest";
import { z } from "zod";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const revisionsSchema = z.array(z.looseObject({ session: z.string(), revision: z.number() }));

it("makes a session that shares another one's events, is listed, verified and gone on with", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run(["--session", "one", "list the files"], { cwd });
  const made = await run(["fork", "one", "--position", "7", "--id", "two", "--json"], { cwd });
  expect(made).toMatchObject({ code: 0 });
  expect(jsonLines(made.stdout)).toEqual([
    { session: "two", from: { session: "one", position: 7 } },
  ]);
  const unnamed = await run(["fork", "one"], { cwd });
  expect(unnamed.stdout).toMatch(/^one-[0-9a-f]{8}\n$/);
  expect(unnamed.stderr).toContain("turnlog --session one-");

  const listed = revisionsSchema.parse(
    jsonLines((await run(["sessions", "--json"], { cwd })).stdout),
  );
  expect(listed.find(({ session }) => session === "two")).toMatchObject({
    revision: 8,
    forkedFrom: { session: "one", position: 7 },
  });
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  const spoken = await run(["--session", "two", "list the files"], { cwd });
  expect(spoken).toMatchObject({ code: 0 });
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  const usage = await run(["show", unnamed.stdout.trim(), "--view", "usage"], { cwd });
  expect(usage.stdout).toMatch(/^0 steps: 0 in, 0 out/m);
  expect(usage.stdout).toMatch(/^before it branched off, \d+ steps: [1-9]/m);
});

it("says what is wrong with a position, a name or a session, and makes nothing", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  await run(["--session", "one", "hello"], { cwd });
  for (const [args, code] of [
    [["fork", "one", "--position", "9999"], "INVALID_INPUT"],
    [["fork", "one", "--id", "one"], "REVISION_CONFLICT"],
    [["fork", "one", "--id", "a b"], "INVALID_INPUT"],
    [["fork", "none"], "SESSION_NOT_FOUND"],
  ] as const) {
    const ended = await run(args, { cwd });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain(`[${code}]`);
  }
  expect(await run(["fork", "one", "--position", "0"], { cwd })).toMatchObject({ code: 2 });
  const { stdout } = await run(["sessions", "--json"], { cwd });
  expect(jsonLines(stdout)).toHaveLength(1);
});

it("records another agent for the fork, of a module or of the chat, and runs nothing", async () => {
  await using folder = await temporaryFolder({
    "agent.mjs": `export const agent = { model: "some/model", instructions: "Book." };\n`,
    "brief.md": "Be brief.\n",
  });
  const cwd = folder.path;
  await run(["--session", "one", "hello"], { cwd });
  const agentOf = async (...args: readonly string[]): Promise<unknown> => {
    const made = await run(["fork", "one", "--id", args[0] ?? "", ...args.slice(1)], { cwd });
    expect(made).toMatchObject({ code: 0 });
    const { stdout } = await run(["show", args[0] ?? "", "--view", "events", "--json"], { cwd });
    const events = z.array(z.looseObject({ type: z.string(), data: z.unknown() }));
    const last = events.parse(jsonLines(stdout)).at(-1);
    expect(last?.type).toBe("session.forked");
    return last?.data;
  };
  const tools = ["list_files", "read_file", "search_files", "read_tool_output"];
  expect(await agentOf("booking", "--agent", "./agent.mjs")).toMatchObject({
    agent: { model: { provider: "gateway", modelId: "some/model" }, tools: [] },
  });
  expect(await agentOf("local", "--agent", "./agent.mjs", "--model", "offline")).toMatchObject({
    agent: { model: { provider: "turnlog", modelId: "offline" }, tools: [] },
  });
  const [one, other] = [
    await agentOf("asked", "--model", "ollama:tiny"),
    await agentOf("brief", "--model", "ollama:tiny", "--instructions", "brief.md"),
  ];
  for (const data of [one, other])
    expect(data).toMatchObject({ agent: { model: { modelId: "tiny" }, tools } });
  expect(other).not.toEqual(one);
  expect(await agentOf("same")).not.toHaveProperty("agent");
  expect(await run(["verify"], { cwd })).toMatchObject({ code: 0 });
  const missing = await run(["fork", "one", "--instructions", "missing.md"], { cwd });
  expect(missing).toMatchObject({ code: 2, stdout: "" });
});
