/** `turnlog serve --postgres` as two processes: what one begins, the other shows, and continues with when it ends. */

import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { jsonLines, run, start, type Running } from "../cli/command-line.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { builtOnce } from "../support/bundled.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();

const headers = { authorization: "Bearer secret", "content-type": "application/json" };
const serving = z.object({ event: z.literal("serving"), url: z.string() });

async function served(cwd: string): Promise<{ readonly running: Running; readonly url: string }> {
  const args = ["serve", "--json", "--port", "0", "--model", "offline", "--pace", "human"];
  const running = start(
    [...args, "--token", "secret", "--postgres", server?.connectionString ?? ""],
    {
      cwd,
    },
  );
  let line = "";
  running.child.stdout?.on("data", (piece: string) => (line += piece));
  await running.until("stdout", /"serving".*\n/);
  return { running, url: serving.parse(jsonLines(line)[0]).url };
}

it("refuses options that mean nothing for a database, and a token of one process", async () => {
  await using folder = await temporaryFolder({});
  const { path: cwd } = folder;
  const url = ["--postgres", "postgres://nobody@127.0.0.1:1/none"];
  const idle = await run(["serve", ...url, "--token", "t", "--leave-turns"], { cwd });
  expect(idle).toMatchObject({ code: 2 });
  expect(idle.stderr).toContain("--leave-turns");
  const own = await run(["serve", ...url], { cwd });
  expect(own).toMatchObject({ code: 2 });
  expect(own.stderr).toContain("TURNLOG_TOKEN");
});

describe.skipIf(!several)(`two servers on one database${needs}`, () => {
  it("show each other's sessions, and finish the turn of one that gets SIGTERM", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n", "b.ts": "zod\n" });
    const first = await served(folder.path);
    const second = await served(folder.path);
    const text = "which files mention zod?";
    const body = JSON.stringify({
      id: "c",
      messages: [{ id: "m", role: "user", parts: [{ type: "text", text }] }],
    });
    const post = fetch(`${first.url}/api/chat`, { method: "POST", headers, body });
    const cut = (await post).text().catch(() => "");
    await expect
      .poll(async () => (await fetch(`${second.url}/api/chat/c/messages`, { headers })).text())
      .toContain('"assistant"');
    first.running.child.kill("SIGTERM");
    expect((await first.running.ended).code).toBe(0);
    await cut;
    const stream = await fetch(`${second.url}/api/chat/c/stream`, { headers });
    const rest = await stream.text();
    expect(rest).toContain('"type":"start"');
    expect(rest).toContain('"type":"finish"');
    const again = await fetch(`${second.url}/api/chat`, { method: "POST", headers, body });
    expect(await again.text()).toContain('"type":"finish"');
    second.running.child.kill("SIGTERM");
    expect((await second.running.ended).code).toBe(0);
  });

  it("is what the example starts: a message to one node is shown by the other", async () => {
    const program = await builtOnce(new URL("../../examples/cluster/node.ts", import.meta.url));
    const node = async (): Promise<Running & { readonly url: string }> => {
      const running = start([], {
        cwd: tmpdir(),
        program,
        env: { DATABASE_URL: server?.connectionString ?? "", TOKEN: "secret", PORT: "0" },
      });
      let url = "";
      running.child.stdout?.on("data", (piece: string) => (url += piece));
      await running.until("stdout", /http.*\n/);
      return { ...running, url: url.trim() };
    };
    const [first, second] = await Promise.all([node(), node()]);
    const at = "/api/sessions/example";
    const body = JSON.stringify({ message: "Hello", id: "m" });
    const sent = await fetch(`${first.url}${at}/queue`, { method: "POST", headers, body });
    expect(sent.status).toBe(202);
    await expect
      .poll(async () => (await fetch(`${second.url}${at}`, { headers })).text())
      .toContain('"status":"idle"');
    for (const { child, ended } of [first, second]) {
      child.kill("SIGTERM");
      expect((await ended).code).toBe(0);
    }
  });
});
