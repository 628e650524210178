/** A store that an application has open: commands read it and act on it through the application. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { chmod, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ownerHost } from "../../src/cli/chat/owner-chat.ts";
import { storeOwner } from "../../src/cli/owner/store-owner.ts";
import { openFolder } from "../../src/cli/settings/store-folder.ts";
import { createRuntime, folderKeys, type Runtime } from "../../src/public/index.ts";
import { offlineModel } from "../../src/models/index.ts";
import { folderId, kernelAddress } from "../../src/store/leveldb/ownership/owner-socket.ts";
import { jsonLines, run, start, type Ended } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const agent = { model: offlineModel(), instructions: "Be brief." };

let folder: TemporaryFolder;
let runtime: Runtime;

beforeAll(async () => {
  folder = await temporaryFolder({ "a.ts": "zod\n" });
  const encryption = { keys: folderKeys(folder.at("keys")) };
  runtime = await createRuntime({ dir: folder.at(".turnlog"), agent, encryption });
  for (const id of ["s", "gone"]) await say(id, `Hello from ${id}`);
  await say("s", "And more");
});

afterAll(async () => {
  await runtime.close();
  await folder[Symbol.asyncDispose]();
});

async function say(id: string, text: string): Promise<void> {
  const turn = await (await runtime.session(id)).send(text);
  await turn.result;
}

async function ended(...args: readonly string[]): Promise<Ended> {
  return await run(["--keys", "keys", ...args], { cwd: folder.path });
}

/** What a command prints that succeeds. */
async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await ended(...args);
  const failure = code === 0 ? "" : stderr;
  expect({ args, code, failure }).toEqual({ args, code: 0, failure: "" });
  return stdout;
}

describe("while an application has the store open", () => {
  it("an attached text is named in the log as it is in a store of one's own", async () => {
    await done("--session", "attached", "--attach", "a.ts", "What is this?");
    const { history } = await (await runtime.session("attached")).view();
    expect(history[0]).toMatchObject({
      kind: "user",
      content: [
        { type: "text", filename: "a.ts" },
        { type: "text", text: "What is this?" },
      ],
    });
  });

  it("commands that read print what they print of a copy that nobody has open", async () => {
    await done("backup", "copy");
    for (const args of [
      ["sessions", "--json"],
      ["show", "s", "--json"],
      ["show", "s", "--view", "events", "--json"],
      ["show", "s", "--view", "prompt", "--json"],
      ["verify", "--json"],
      ["log", "--json"],
      ["context", "s", "--json"],
      ["export", "s"],
      ["branches", "s", "--json"],
      ["diff", "s", "2", "6", "--json"],
      ["replay", "s"],
    ]) {
      const there = await done(...args);
      expect(there).not.toBe("");
      expect(there).toBe(await done(...args, "--dir", "copy"));
    }
  });

  it("reads encrypted sessions by the keys of the command, not by the application's", async () => {
    const refused = await run(["show", "s"], { cwd: folder.path });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("[KEY_MISSING]");
  });

  it("rewinds, checks out, forks, redacts, collects and deletes in the application's sessions", async () => {
    const session = await runtime.session("s");
    const before = await session.view();
    expect(jsonLines(await done("rewind", "s", "--before-turn", "2", "--json"))).toMatchObject([
      { session: "s", turns: [{}] },
    ]);
    // The application's own handle is at the new head: nobody wrote behind its back.
    expect((await session.view()).history.length).toBeLessThan(before.history.length);
    await done("checkout", "s", "1");
    expect((await session.view()).history).toEqual(before.history);
    await say("s", "Still here");
    expect(jsonLines(await done("fork", "s", "--id", "f", "--json"))).toMatchObject([
      { session: "f", from: { session: "s" } },
    ]);
    await say("f", "In the fork");
    const events = await Array.fromAsync(runtime.log.read("s"));
    const queued = events.find(({ type }) => type === "message.queued");
    await done("redact", "s", String(queued?.position ?? 0), "--yes");
    expect(JSON.stringify((await session.view()).history[0])).not.toContain("Hello from s");
    expect(jsonLines(await done("gc", "--json"))).toEqual([{ removed: 0, bytes: 0 }]);
    expect(jsonLines(await done("delete", "gone", "--yes", "--json"))).toMatchObject([
      { session: "gone" },
    ]);
    await expect(runtime.session("gone")).rejects.toMatchObject({ code: "SESSION_DELETED" });
    expect((await ended("delete", "none", "--yes")).stderr).toContain("[SESSION_NOT_FOUND]");
    expect((await ended("verify")).code).toBe(0);
  });

  it("imports sessions and messages into the application's store", async () => {
    await writeFile(folder.at("s.jsonl"), await done("export", "s"));
    await done("import", "s.jsonl", "--id", "brought");
    await say("brought", "And here");
    const { history } = await (await runtime.session("brought")).view();
    expect(JSON.stringify(history)).toContain("And here");
    const message = { id: "u1", role: "user", parts: [{ type: "text", text: "From elsewhere" }] };
    await writeFile(folder.at("messages.json"), JSON.stringify([message]));
    const of = ["messages.json", "--from", "ui-messages", "--id", "of-messages", "--json"];
    expect(jsonLines(await done("import", ...of))).toMatchObject([{ session: "of-messages" }]);
    const here = await (await runtime.session("of-messages")).view();
    expect(JSON.stringify(here.history)).toContain("From elsewhere");
    expect((await ended("import", "s.jsonl")).stderr).toMatch(/\[REVISION_CONFLICT\]|exists/);
    const refused = await ended("import", "s.jsonl", "--id", "x", "--no-verify");
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain("cannot import with --no-verify");
  });

  it("answers a chat in a second terminal by the application's agent", async () => {
    const { code, stdout, stderr } = await ended("--session", "s", "What is your name?");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain(`Process ${process.pid} has the store open: its agent answers.`);
    const { history } = await (await runtime.session("s")).view();
    expect(JSON.stringify(history)).toContain("What is your name?");
    expect(JSON.stringify(history)).toContain(JSON.stringify(stdout.trim()).slice(1, -1));
    const refused = await ended("--session", "s", "--model", "offline", "hello");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("--model would have no effect");
  });

  it("does in the second terminal what a chat does: sends, runs again, rewinds, forks", async () => {
    const owner = await storeOwner(folder.at(".turnlog"));
    if (owner === undefined) throw new Error("The store has no owner.");
    const session = await ownerHost(owner).session("chat");
    const turn = await session.send({ text: "Read it", files: [folder.at("a.ts")] });
    const types = await Array.fromAsync(turn, ({ type }) => type);
    expect([types[0], types.at(-1)]).toEqual(["turn.started", "turn.ended"]);
    expect(await turn.result).toEqual({ finishReason: "stop" });
    const again = await session.regenerate();
    expect(await again.replaced).toMatchObject({ effects: [] });
    expect(await again.result).toEqual({ finishReason: "stop" });
    await session.idle();
    expect(await session.branches()).toHaveLength(2);
    const fork = await session.fork({ id: "chat-2" });
    await session.rewind({ beforeTurn: 2 });
    const here = await (await runtime.session("chat")).view();
    expect(await session.view()).toEqual(here);
    expect(here.history).toEqual([]);
    expect(JSON.stringify((await fork.view()).history)).toContain("zod");
    await expect(session.forgetApproval("none")).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
  });

  it("runs a turn again by the application's agent, in a fork of its store", async () => {
    const { code, stdout, stderr } = await ended("rerun", "f", "--id", "again");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain(`Process ${process.pid} has the store open: its agent answers.`);
    expect(stderr).toMatch(/Session again is a fork of f at position \d+/);
    const { history } = await (await runtime.session("again")).view();
    expect(JSON.stringify(history)).toContain(JSON.stringify(stdout.trim()).slice(1, -1));
    const step = jsonLines(await done("rerun", "f", "--step", "1", "--id", "once", "--json"));
    expect(JSON.stringify(step.at(-1))).toContain("turn.ended");
    expect((await ended("rerun", "f", "--id", "s")).stderr).toContain("[REVISION_CONFLICT]");
    expect((await ended("rerun", "none")).stderr).toContain("[SESSION_NOT_FOUND]");
    const refused = await ended("rerun", "f", "--hash-chain");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("--hash-chain would have no effect");
  });

  it("refuses what only the application's process could do to its files", async () => {
    const refused = await ended("repair");
    expect(refused.stderr).toContain("[LOG_LOCKED]");
    const owner = await storeOwner(folder.at(".turnlog"));
    await expect(owner?.log.saveSnapshot("s", never)).rejects.toMatchObject({
      code: "LOG_LOCKED",
      details: { pid: process.pid },
    });
  });

  it("tells a program that opens the store itself how to reach it", async () => {
    const opening = (dir: string): string =>
      `const { openLog } = await import(${JSON.stringify(import.meta.resolve("../../src/public/index.ts"))});
      await openLog({ dir: ${JSON.stringify(dir)} });`;
    const refusal = async (dir: string): Promise<string> =>
      await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", opening(dir)])
        .then(() => "opened")
        .catch(String);
    const dir = folder.at(".turnlog");
    expect(await refusal(dir)).toContain(`use it through that process (\`turnlog --dir "${dir}"`);
    await using alone = await createRuntime({ dir: folder.at("single"), agent, share: false });
    await alone.session("s");
    const refused = await refusal(folder.at("single"));
    expect(refused).toContain("Close it there, or use another folder.");
  });

  it("only says who the owner is with `share: false`, and the command refuses as before", async () => {
    const dir = folder.at("alone");
    await using alone = await createRuntime({ dir, agent, share: false });
    await alone.session("s");
    expect(await storeOwner(dir)).toBeUndefined();
    const refused = await run(["sessions", "--dir", "alone"], { cwd: folder.path });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("[LOG_LOCKED]");
  });

  it("lets its readers go on with the closed store", async () => {
    const place = { dir: folder.at("closed"), takeOver: false };
    const closing = await createRuntime({ dir: place.dir, agent });
    const { id } = await closing.session("s");
    await using log = await openFolder(place, { readOnly: true });
    const revision = await log.revision(id);
    await closing.close();
    expect(await log.revision(id)).toBeGreaterThanOrEqual(revision);
    expect(await Array.fromAsync(log.list())).toMatchObject([{ session: id }]);
    expect((await Array.fromAsync(log.read(id)))[0]?.type).toBe("session.created");
  });

  it("does not hand its chats on to the next process in silence, which has an agent of its own", async () => {
    const dir = folder.at("next");
    const closing = await createRuntime({ dir, agent });
    const owner = await storeOwner(dir);
    const session = await owner?.client.createSession("s");
    await closing.close();
    await using next = await createRuntime({ dir, agent });
    await next.session("s");
    for (const ask of [
      () => session?.view(),
      () => session?.send("Hi"),
      () => owner?.log.revision("s"),
    ])
      await expect(ask()).rejects.toMatchObject({ code: "LOG_CLOSED" });
    expect(await (await storeOwner(dir))?.log.revision("s")).toBe(1);
  });

  it("ends what follows a session when the application deletes that", async () => {
    await say("followed", "Hello");
    const keys = ["--keys", "keys"];
    const followers = [
      ["show", "followed"],
      ["log", "--session", "followed"],
    ].map((args) => start([...keys, ...args, "--follow"], { cwd: folder.path }));
    for (const one of followers) await one.until("stderr", /all events so far/);
    await say("followed", "And more");
    for (const one of followers) await one.until("stdout", /And more/);
    await runtime.delete("followed");
    for (const { ended: end } of followers) {
      const { code, stderr } = await end;
      expect(`${code} ${stderr}`).toMatch(/^1 .*SESSION_DELETED/s);
    }
  });

  it("ends the subscriptions of its readers when the application closes the store", async () => {
    const dir = folder.at("closing");
    const closing = await createRuntime({ dir, agent });
    await closing.session("s");
    const owner = await storeOwner(dir);
    const events = owner?.log.subscribeAll()[Symbol.asyncIterator]();
    expect(await events?.next()).toMatchObject({ done: false });
    const rest = events?.next();
    await closing.close();
    expect(await rest).toMatchObject({ done: true });
    expect((await run(["sessions", "--dir", "closing"], { cwd: folder.path })).code).toBe(0);
  });
});

const never = { projection: "p", version: 1, position: 1, state: null };

/** Connects as another user of the machine; prints the error's code, or what the socket says. */
const visitor = `
  const { connect } = require("node:net");
  let said = "";
  const socket = connect(process.argv[1].replace("@", "\\0"));
  socket.on("error", ({ code }) => console.log(code));
  socket.on("data", (text) => (said += text)).on("end", () => console.log(said));
  socket.write("GET /api/sessions HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n");
`;

async function asNobody(address: string): Promise<string> {
  const nobody = 65_534;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--eval", visitor, address.replace("\0", "@")],
    {
      uid: nobody,
      gid: nobody,
      cwd: "/",
    },
  );
  return stdout.trim();
}

describe.skipIf(process.getuid?.() !== 0)("another user of the machine", () => {
  it("is kept out by the folder's mode, and hears from the kernel's name only who the owner is", async () => {
    const dir = folder.at(".turnlog");
    await chmod(folder.path, 0o755);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    expect((await stat(`${dir}/owner.sock`)).mode & 0o777).toBe(0o600);
    expect(await asNobody(`${dir}/owner.sock`)).toBe("EACCES");
    const kernel = kernelAddress(folderId(dir));
    const [greeting, ...more] =
      kernel === undefined ? ["{}"] : (await asNobody(kernel)).split("\n");
    expect(JSON.parse(greeting ?? "")).not.toHaveProperty("serves");
    expect(more).toEqual([]);
    // A socket that is open to all is reached: the refusal above is the mode's.
    const open = createServer((socket) => socket.end("open")).listen(folder.at("open.sock"));
    await once(open, "listening");
    await chmod(folder.at("open.sock"), 0o777);
    expect(await asNobody(folder.at("open.sock"))).toBe("open");
    open.close();
  });
});

describe("a process that serves the store", () => {
  it("is followed event by event, and keeps nobody out once it is killed", async () => {
    await using there = await temporaryFolder({ "a.ts": "zod\n" });
    const cwd = there.path;
    const serving = start(["serve", "--port", "0", "--no-token", "--model", "offline"], { cwd });
    await serving.until("stdout", /Serving/);
    const owner = await storeOwner(there.at(".turnlog"));
    expect(owner?.pid).toBe(serving.child.pid);
    const following = start(["log", "--follow", "--json"], { cwd });
    await following.until("stderr", /all events so far/);
    await owner?.client.session("s").send("list all files");
    await following.until("stdout", /turn\.ended/);
    serving.child.kill("SIGKILL");
    await serving.ended;
    expect(await run(["--session", "s", "list all files"], { cwd })).toMatchObject({ code: 0 });
    await following.until("stdout", /"turn":2.*turn\.ended|turn\.ended.*"turn":2/s);
    following.child.kill("SIGINT");
    const { stdout } = await following.ended;
    const positions = z
      .array(z.looseObject({ position: z.int() }))
      .parse(jsonLines(stdout))
      .map(({ position }) => position);
    expect(positions).toEqual(positions.map((_, index) => index + 1));
  });
});
