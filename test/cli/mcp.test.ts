/** MCP servers on the command line: named, started, asked for, and gone with the process. */
import { describe, expect, it } from "vitest";
import { begunIn, isAlive, pidsIn, until } from "../mcp/own-servers.ts";
import { sampled } from "../support/runs.ts";
import { jsonLines, run, start } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { fakeServer, streamChunks, type FakeServer } from "./fake-server.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startInTerminal } from "./terminal.ts";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../mcp/own-server.ts", import.meta.url));

function command({ path }: TemporaryFolder): string {
  return `'${process.execPath}' "${program}" ${path}`;
}

/** A provider whose model calls a tool, and says what came of it once it is told. */
async function caller(toolName: string): Promise<FakeServer> {
  return await fakeServer(({ body }, response) => {
    const result = body.messages?.findLast(({ role }) => role === "tool");
    const call = { index: 0, id: "c1", function: { name: toolName, arguments: '{"text":"é"}' } };
    return streamChunks(
      response,
      result === undefined
        ? [{ delta: { tool_calls: [call] } }, { delta: {}, finish_reason: "tool_calls" }]
        : [
            { delta: { content: `It said: ${JSON.stringify(result["content"])}` } },
            { delta: {}, finish_reason: "stop" },
          ],
    );
  });
}

function asking({ url }: FakeServer): Record<string, string> {
  return { OPENAI_API_KEY: "k", OPENAI_BASE_URL: url };
}

const model = ["--model", "openai:m"];

describe("turnlog chat --mcp", () => {
  it("gives the agent the tools of a server, and leaves no process behind", async () => {
    await using folder = await temporaryFolder();
    await using server = await caller("own-server__say");
    const { code, stdout, stderr } = await run([...model, "--mcp", command(folder), "Go."], {
      cwd: folder.path,
      env: asking(server),
    });
    expect(code).toBe(0);
    expect(stderr).toContain("✓ own-server__say");
    expect(stdout).toContain("It said:");
    expect(stdout).toContain(`of ${pidsIn(folder)[0]}`);
    expect(JSON.stringify(server.requests[0]?.body.tools)).toContain('"own-server__look"');
    await until(() => pidsIn(folder).every((pid) => !isAlive(pid)));
  });

  it.skipIf(!hasTerminals)(
    "asks in a terminal before a tool runs that does not only read",
    async () => {
      await using folder = await temporaryFolder();
      await using server = await caller("own-server__say");
      const running = startInTerminal([...model, "--mcp", command(folder)], {
        cwd: folder.path,
        env: asking(server),
      });
      await running.until(/Ask about this folder/);
      running.type("Go.\r");
      await running.until(/own-server__say waits for your answer/);
      running.type("y\r");
      await running.until(/It said: .*of \d+/s);
      await running.until(/Ask about this folder/);
      running.type("\u0004");
      const { code } = await running.ended;
      expect(code).toBe(0);
      await until(() => pidsIn(folder).every((pid) => !isAlive(pid)));
    },
  );

  it.each(sampled(["SIGTERM", "SIGHUP", "SIGINT"] as const, 2))(
    "ends its servers when the process gets %s in the middle of a call",
    async (signal) => {
      await using folder = await temporaryFolder();
      await using server = await caller("own-server__wait");
      const running = start([...model, "--mcp", command(folder), "Go."], {
        cwd: folder.path,
        env: asking(server),
      });
      await until(() => begunIn(folder).includes("wait"));
      running.child.kill(signal);
      const { code } = await running.ended;
      expect(code).toBe(signal === "SIGINT" ? 130 : 143);
      await until(() => pidsIn(folder).every((pid) => !isAlive(pid)));
    },
  );

  it("leaves none behind when it is killed, as their stdin ends", async () => {
    await using folder = await temporaryFolder();
    await using server = await caller("own-server__wait");
    const running = start([...model, "--mcp", command(folder), "Go."], {
      cwd: folder.path,
      env: asking(server),
    });
    await until(() => begunIn(folder).includes("wait"));
    running.child.kill("SIGKILL");
    expect((await running.ended).signal).toBe("SIGKILL");
    await until(() => pidsIn(folder).every((pid) => !isAlive(pid)));
  });

  it("says which server could not be started, and answers without it", async () => {
    await using folder = await temporaryFolder({ "a.ts": "" });
    const { code, stdout, stderr } = await run(
      ["--model", "offline", "--mcp", "/nowhere/at/all --really", "list all files"],
      { cwd: folder.path },
    );
    expect(code).toBe(0);
    expect(stdout).toContain("a.ts");
    expect(stderr).toMatch(/MCP server all could not be started: .*ENOENT/);
  });
});

describe("turnlog chat --mcp-config", () => {
  it("reads servers in the shape of other tools, with secrets from the environment", async () => {
    const servers = (path: string): string =>
      JSON.stringify({
        mcpServers: {
          own: {
            type: "stdio",
            command: "${RUNNER}",
            args: ["${PROGRAM:-nothing}", path],
            env: { SECRET: "${SECRET:-none}" },
          },
          // Would be reported, with its variable as missing.
          other: { command: "/nowhere/at/all", args: ["${UNSET}"], disabled: true },
        },
      });
    await using folder = await temporaryFolder();
    await folder.write("mcp.json", servers(folder.path));
    await using server = await caller("own__look");
    const args = [...model, "--mcp-config", "mcp.json", "--json", "Go."];
    const env = { ...asking(server), RUNNER: process.execPath, PROGRAM: program };
    const { code, stdout, stderr: warnings } = await run(args, { cwd: folder.path, env });
    expect(code).toBe(0);
    expect(warnings).not.toContain("other");
    const types = readEvents(jsonLines(stdout)).map(({ type }) => type);
    expect(types).toContain("tool.succeeded");

    const { code: wrong, stderr } = await run(args, { cwd: folder.path, env: asking(server) });
    expect(wrong).toBe(2);
    expect(stderr).toContain("names ${RUNNER}, which is not set");
  });

  it.each([
    ["is not there", undefined, /cannot be read/],
    ["is no JSON", "{", /cannot be read/],
    ["has another shape", '{"servers":{}}', /mcpServers/],
    ["names no command", '{"mcpServers":{"a":{"args":[]}}}', /mcpServers\.a/],
  ] as const)("says what is wrong with a file that %s", async (_, content, said) => {
    await using folder = await temporaryFolder(content === undefined ? {} : { "m.json": content });
    const { code, stderr } = await run(["--mcp-config", "m.json", "Go."], { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toMatch(said);
  });
});
