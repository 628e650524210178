/** `turnlog mcp-server` as a process of its own: killed in the middle of a word, and beside a process that has the store open. */

import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { createRuntime, openLog, verifySession } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { runInProcess } from "../cli/in-process.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { sampled } from "../support/runs.ts";
import { call, revisions, type Revision } from "./connected.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const agent = fileURLToPath(new URL("dying-agent.mjs", import.meta.url));

interface Started extends AsyncDisposable {
  readonly client: Client;
  readonly kill: () => void;
}

async function started(folder: string, revision: Revision = "2026-07-28"): Promise<Started> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, "--dir", join(folder, "store"), "mcp-server", "--agent", agent],
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, DYING_AGENT: folder },
    stderr: "ignore",
  });
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      capabilities: {},
      versionNegotiation: { mode: revision === "2025-11-25" ? "legacy" : { pin: revision } },
    },
  );
  await client.connect(transport);
  const { pid } = transport;
  return {
    client,
    kill: () => void (pid === null || process.kill(pid, "SIGKILL")),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

it.each(sampled(revisions, 1))("killed in the middle of a word, revision %s", async (revision) => {
  await using folder = await temporaryFolder({});
  await writeFile(join(folder.path, "stops"), "");
  let session = "";
  {
    await using first = await started(folder.path, revision);
    const onprogress = ({ message = "" }: { message?: string | undefined }): void => {
      if (message.startsWith("Session ")) session = message.replace("Session ", "");
      if (message.startsWith("word ")) first.kill();
    };
    const lost = call(first.client, { message: "Go" }, { tool: "clerk", onprogress });
    await expect(lost).rejects.toThrow("Connection closed");
  }
  await rm(join(folder.path, "stops"));
  {
    await using second = await started(folder.path, revision);
    const again = await call(second.client, { message: "Go", session }, { tool: "clerk" });
    // What was said before the kill comes first; this model then says all of it again.
    const reply = expect.stringMatching(/^(?:word ){2,}(?:word ){60}end\.$/) as unknown;
    expect(again).toMatchObject({ session, status: "stop", reply });
  }
  expect(await readFile(join(folder.path, "notes"), "utf8")).toBe("x");
  await using log = await openLog({ dir: join(folder.path, "store"), readOnly: true });
  const events = await Array.fromAsync(log.read(session));
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  expect(["message.queued", "message.delivered", "turn.ended"].map(count)).toEqual([1, 1, 1]);
  expect(await verifySession(log, session)).toMatchObject({ problems: [] });
});

it("asks the process that has the store open, and continues by itself when that one has gone", async () => {
  await using folder = await temporaryFolder({});
  const model = scriptedModel(["From the owner."]);
  const owner = await createRuntime({ dir: join(folder.path, "store"), agent: { model } });
  await using one = await started(folder.path);
  const { session, reply } = await call(one.client, { message: "Hi" }, { tool: "clerk" });
  expect(reply).toBe("From the owner.");
  expect((await (await owner.session(session)).view()).history).not.toEqual([]);
  await owner.close();
  const next = await call(one.client, { message: "Go", session }, { tool: "clerk" });
  expect(next).toMatchObject({ session, status: "stop" });
  const { resources } = await one.client.listResources();
  expect(resources.map(({ name }) => name)).toEqual([session]);
});

it("refuses an agent for the sessions of a server, whose own agent answers", async () => {
  const words = ["--server", "http://localhost:9", "mcp-server", "--agent", "./agent.ts"];
  const ended = await runInProcess(words, { cwd: import.meta.dirname, env: {} });
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain("--agent would have no effect");
});
