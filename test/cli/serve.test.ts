/** `turnlog serve` as a process: its first line, its token, its log of requests, its end. */

import { readFile, stat } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { jsonLines, run, start, type Running } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { heldProvider, type HeldProvider } from "./held-provider.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const serving = z.object({ event: z.literal("serving"), url: z.string(), tokenFile: z.string() });

interface Served {
  readonly running: Running;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const offline = { args: ["--model", "offline"], env: {} };

async function served(
  folder: TemporaryFolder,
  { args, env }: Pick<HeldProvider, "args" | "env"> = offline,
  ...more: readonly string[]
): Promise<Served> {
  const words = ["serve", "--json", "--port", "0", ...args, ...more];
  const running = start(words, { cwd: folder.path, env });
  let line = "";
  running.child.stdout?.on("data", (piece: string) => (line += piece));
  await running.until("stdout", /"serving".*\n/);
  const { url, tokenFile } = serving.parse(JSON.parse(line.split("\n")[0] ?? ""));
  const token = (await readFile(tokenFile, "utf8")).trim();
  expect((await stat(tokenFile)).mode & 0o777).toBe(0o600);
  return {
    running,
    url,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  };
}

const chat = JSON.stringify({
  id: "c",
  messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "list all files" }] }],
});

describe("turnlog serve", () => {
  it("serves the chat's agent, writes a line for each request, and ends with 0 at SIGTERM", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const { running, url, headers } = await served(folder);
    const answer = await fetch(`${url}/api/chat`, { method: "POST", headers, body: chat });
    expect(await answer.text()).toContain("a.ts");
    expect((await fetch(`${url}/api/sessions`)).status).toBe(401);
    running.child.kill("SIGTERM");
    const { code, signal, stdout } = await running.ended;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(jsonLines(stdout)).toMatchObject([
      { event: "serving" },
      { event: "request", method: "POST", path: "/api/chat", status: 200, session: "c" },
      { event: "request", path: "/api/sessions", status: 401, code: "UNAUTHORIZED" },
      { event: "stopping", signal: "SIGTERM" },
    ]);
  });

  it("ends the stream of a running turn at SIGTERM and leaves the turn, and knows its clients when it starts again", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const first = await served(folder, provider);
    const body = chat.replace("list all files", "which files mention zod?");
    const answer = await fetch(`${first.url}/api/chat`, {
      method: "POST",
      headers: first.headers,
      body,
    });
    const text = answer.text();
    first.running.child.kill("SIGTERM");
    expect(await text).toContain(": the server was stopped (SIGTERM)");
    expect((await first.running.ended).code).toBe(0);
    const { stdout } = await run(["show", "c", "--view", "events", "--json"], { cwd: folder.path });
    const ends = readEvents(jsonLines(stdout)).filter(({ type }) => type === "turn.ended");
    expect(ends).toEqual([]);
    const second = await served(folder);
    expect(second.headers).toEqual(first.headers);
    const page = await fetch(`${second.url}/api/chat/c/messages`, { headers: second.headers });
    expect(await page.json()).toMatchObject({ messages: [{ id: "m" }, { id: "reply-1" }] });
    second.running.child.kill("SIGINT");
    expect((await second.running.ended).code).toBe(0);
  });

  it("continues a turn that SIGTERM left at its start with --leave-turns", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const first = await served(folder, provider);
    const body = chat.replace("list all files", "which files mention zod?");
    const post = { method: "POST", headers: first.headers, body };
    const answer = await fetch(`${first.url}/api/chat`, post);
    const text = answer.text();
    first.running.child.kill("SIGTERM");
    expect(await text).toContain(": the server was stopped (SIGTERM)");
    expect(await first.running.ended).toMatchObject({ code: 0, signal: null });
    const { url, headers, running } = await served(folder, offline, "--leave-turns");
    const reply = await fetch(`${url}/api/chat/c/stream`, { headers });
    expect(await reply.text()).toContain("a.ts");
    running.child.kill("SIGTERM");
    await running.ended;
    const { stdout } = await run(["show", "c", "--view", "events", "--json"], { cwd: folder.path });
    const events = readEvents(jsonLines(stdout));
    expect(events.filter(({ type }) => type === "session.recovered")).toHaveLength(1);
    const ends = events.filter(({ type }) => type === "turn.ended");
    expect(ends).toMatchObject([{ data: { reason: "stop" } }]);
  });

  it("runs the agent of a module", async () => {
    const agent = `
      import { scriptedModel } from ${JSON.stringify(new URL("../../src/public/testing.ts", import.meta.url).href)};
      export const agent = { model: scriptedModel(["I am yours."]) };`;
    await using folder = await temporaryFolder({ "agent.ts": agent });
    const running = start(["serve", "--port", "0", "--agent", "agent.ts", "--no-token"], {
      cwd: folder.path,
    });
    let said = "";
    running.child.stdout?.on("data", (piece: string) => (said += piece));
    await running.until(
      "stdout",
      /There is no token: every program on this machine may use it\.\n/,
    );
    const [, url = ""] = /at (http:\S+)\. /.exec(said) ?? [];
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/api/chat`, { method: "POST", headers, body: chat });
    expect(await answer.text()).toContain("I am yours.");
    running.child.kill("SIGTERM");
    expect((await running.ended).stderr).toMatch(/ POST \/api\/chat 200 \S+ ms c\n/);
  });

  it.each([
    [["--no-token", "--host", "0.0.0.0"], /without a token/],
    [["--agent", "none.ts", "--model", "offline"], /--model would have no effect/],
    [["--prot", "1"], /unknown option/],
  ])("refuses %j", async (options, words) => {
    await using folder = await temporaryFolder({});
    const { code, stderr } = await run(["serve", ...options], { cwd: folder.path });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(words);
  });
});
