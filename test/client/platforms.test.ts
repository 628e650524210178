/**
 * The client on the platforms that it is made for beside this Node, and the server in Bun: real programs of
 * them, which npm installs, so only in long runs.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { WebSocketChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { serving } from "../server/serving.ts";
import { bundled } from "../support/bundled.ts";
import { long } from "../support/runs.ts";

const run = promisify(execFile);
const program = new URL("./platform-child.ts", import.meta.url);
let folder = "";

const needs = long ? "" : " (needs `npm run test:long`, which installs them)";

describe.skipIf(!long)(`on Node 22 and Bun${needs}`, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "turnlog-platforms-"));
    await run("npm", [
      "install",
      "--prefix",
      folder,
      "--no-audit",
      "--no-fund",
      "bun@1",
      "node@22",
    ]);
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  const platform = (name: string): string => join(folder, "node_modules/.bin", name);

  it.each(["node", "bun"])("the client gets events and chats: %s", async (name) => {
    await using open = await serving({ model: scriptedModel(() => "Hello.") });
    const { url, token = "" } = open.server;
    const child = await bundled(program, join(folder, `client-${name}`));
    const { stdout } = await run(platform(name), [child, url, token]);
    expect(JSON.parse(stdout)).toEqual({ byEvents: "Hello.", byChat: "Hello." });
  });

  it("the server answers requests and WebSockets in Bun", async () => {
    const file = new URL("../server/bun-child.ts", import.meta.url);
    const server = await bundled(file, join(folder, "server"));
    const child = spawn(platform("bun"), [server], { stdio: ["pipe", "pipe", "inherit"] });
    const exited = once(child, "exit");
    try {
      const line: readonly unknown[] = await once(child.stdout.setEncoding("utf8"), "data");
      const { port } = z.object({ port: z.int() }).parse(JSON.parse(String(line[0])));
      const url = `http://localhost:${port}`;
      const client = await bundled(program, join(folder, "client"));
      const { stdout } = await run(process.execPath, [client, url, "token"]);
      expect(JSON.parse(stdout)).toEqual({ byEvents: "Hello.", byChat: "Hello." });
      const transport = new WebSocketChatTransport({
        url: `${url}/api/chat`,
        protocols: ["turnlog", "turnlog.token.token"],
      });
      const stream = await transport.reconnectToStream({ chatId: "by-chat" });
      let last: UIMessage | undefined;
      for await (const one of readUIMessageStream({ stream: stream ?? new ReadableStream() }))
        last = one;
      expect(last?.parts).toContainEqual(expect.objectContaining({ text: "Hello." }));
      transport.close();
    } finally {
      child.stdin.end();
      await exited;
    }
  });
});
