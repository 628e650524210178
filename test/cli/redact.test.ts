/** `--keys` and `turnlog redact`: what a chat says is encrypted, and single parts of it go for good. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { jsonLines, run } from "./command-line.ts";
import type { JsonObject } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, folderKeys } from "../../src/public/index.ts";
import { readEvents } from "./events.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const keys = ["--keys", "keys"] as const;

/** The positions of events of a type. */
async function positionsOf(cwd: string, type: string): Promise<readonly number[]> {
  const { stdout } = await run([...keys, "show", "one", "--view", "events", "--json"], { cwd });
  return readEvents(jsonLines(stdout)).flatMap((event) =>
    event.type === type ? [event.position] : [],
  );
}

/** A session that says of itself what runs of `turnlog compare` do. */
async function keepSession(cwd: string, id: string, metadata: JsonObject): Promise<void> {
  await using runtime = await createRuntime({
    dir: join(cwd, ".turnlog"),
    agent: { model: scriptedModel([]) },
    encryption: { keys: folderKeys(join(cwd, "keys")) },
  });
  await runtime.session(id, { metadata });
}

it("redacts a message and a call from a session that only its keys open, and everything else continues", async () => {
  await using folder = await temporaryFolder({ "a.txt": "content-of-a" });
  const cwd = folder.path;
  const env = { TURNLOG_KEYS: "keys" };
  const asked = ["--session", "one", "--hash-chain"];
  expect(await run([...asked, "read a.txt"], { cwd, env })).toMatchObject({
    code: 0,
  });
  expect((await readdir(join(cwd, "keys"))).toSorted()).toEqual(["one.key"]);
  expect(jsonLines((await run(["sessions", "--json"], { cwd })).stdout)).toMatchObject([
    { session: "one", title: "[redacted]" },
  ]);
  const blind = await run(["verify"], { cwd });
  expect(blind).toMatchObject({ code: 0 });
  expect(blind.stdout).toContain("sound");
  for (const command of ["show", "export", "context", "replay"]) {
    const refused = await run([command, "one"], { cwd });
    expect(refused.code, command).toBe(1);
    expect(refused.stderr).toMatch(/--keys <folder>.*\[KEY_MISSING\]/s);
  }
  const silent = await run(["redact", "one", "2"], { cwd, env });
  expect(silent).toMatchObject({ code: 2, stdout: "" });
  const [message] = await positionsOf(cwd, "message.queued");
  const [result] = await positionsOf(cwd, "tool.succeeded");
  const [end] = await positionsOf(cwd, "turn.ended");
  const before = await run([...keys, "show", "one", "--full"], { cwd });
  expect(before.stdout).toContain("content-of-a");
  await keepSession(cwd, "e/one/1", { experiment: "e", of: "one", run: "1" });
  await keepSession(cwd, "another", { of: "one" });
  const redacted = await run(
    ["redact", "one", String(message), `${result}-${end}`, "--yes", "--reason", "private"],
    { cwd, env },
  );
  expect(redacted).toMatchObject({ code: 0 });
  expect(redacted.stdout).toContain("is redacted at");
  expect(redacted.stderr).toContain("Redact or delete them too: e/one/1.");
  const shown = await run([...keys, "show", "one", "--full"], { cwd });
  expect(shown.stdout).toContain("[redacted]");
  expect(shown.stdout).not.toContain("content-of-a");
  const again = await run(["redact", "one", String(message), "--yes", "--json"], { cwd, env });
  expect(jsonLines(again.stdout)).toEqual([{ session: "one", ranges: [], summaries: [] }]);
  expect((await run([...asked, "list the files"], { cwd, env })).code).toBe(0);
  const sound = await run([...keys, "verify"], { cwd });
  expect(sound).toMatchObject({ code: 0 });
  expect(sound.stdout).toMatch(/not readable: \d+ events/);
});

it("takes plain and encrypted files to where they can be read, and keys that lie in the store nowhere", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run([...keys, "--session", "one", "hello-there"], { cwd });
  await run([...keys, "export", "one", "--out", "plain.jsonl"], { cwd });
  await run(["export", "one", "--encrypted", "--out", "encrypted.jsonl"], { cwd });
  const plain = await run(["--dir", "other", "import", "plain.jsonl"], { cwd });
  expect(plain).toMatchObject({ code: 0 });
  expect((await run(["--dir", "other", "show", "one"], { cwd })).stdout).toContain("hello-there");
  await run(["--dir", "third", "import", "encrypted.jsonl"], { cwd });
  expect((await run(["--dir", "third", "show", "one"], { cwd })).code).toBe(1);
  const read = await run([...keys, "--dir", "third", "show", "one"], { cwd });
  expect(read.stdout).toContain("hello-there");
  const inside = await run(["--keys", ".turnlog/keys", "--session", "two", "hello"], { cwd });
  expect(inside).toMatchObject({ code: 2 });
  expect((await run([...keys, "delete", "one", "--yes"], { cwd })).code).toBe(0);
  expect(await readdir(join(cwd, "keys"))).toEqual([]);
  expect((await run([...keys, "--dir", "third", "show", "one"], { cwd })).stderr).toContain(
    "KEY_MISSING",
  );
  await rm(join(cwd, "keys"), { recursive: true });
});
