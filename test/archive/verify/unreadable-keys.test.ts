/** A session whose key cannot be read is one row with its problem: it hides no other session. */

import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createRuntime,
  encryptedLog,
  folderKeys,
  masterKeys,
  openLog,
  type KeyStore,
} from "../../../src/public/index.ts";
import { verifyLog } from "../../../src/archive/verify/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { numberedUpTo } from "../../../src/testing/index.ts";
import { jsonLines, run } from "../../cli/command-line.ts";
import { ask } from "../../support/asking.ts";

interface Made {
  readonly dir: string;
  readonly keys: string;
}

async function threeSessions(wrap: (keys: KeyStore) => KeyStore = (keys) => keys): Promise<Made> {
  const root = mkdtempSync(join(tmpdir(), "turnlog-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const [dir, keys] = [join(root, "store"), join(root, "keys")];
  await using runtime = await createRuntime({
    dir,
    agent: { model: scriptedModel(() => "The secret is kept.") },
    encryption: { keys: wrap(folderKeys(keys)) },
  });
  for (const session of ["a", "b", "c"]) await ask(await runtime.session(session), "Hello.");
  return { dir, keys };
}

const damages: Readonly<Record<string, (path: string) => void>> = {
  "has a flipped bit": (path) => {
    const bytes = readFileSync(path);
    // Inside of the key: its last character has bits that mean nothing.
    const at = bytes.length - 30;
    writeFileSync(path, bytes.fill((bytes[at] ?? 0) ^ 1, at, at + 1));
  },
  "is empty": (path) => writeFileSync(path, ""),
  "is another session's": (path) =>
    writeFileSync(path, readFileSync(path.replace("b.key", "a.key"))),
  "is gone": (path) => rmSync(path),
  "cannot be read": (path) => {
    rmSync(path);
    mkdirSync(path);
  },
  "is of a later release": (path) =>
    writeFileSync(path, readFileSync(path, "utf8").replace('"format":1', '"format":9')),
};

const problems = (found: {
  readonly sessions: readonly { readonly session: string; readonly problems: readonly unknown[] }[];
}): Readonly<Record<string, number>> =>
  Object.fromEntries(found.sessions.map((one) => [one.session, one.problems.length]));

describe.each(Object.entries(damages))("a session whose key %s", (_, spoil) => {
  it("is the only problem that verify finds, in a program and on the command line", async () => {
    const { dir, keys } = await threeSessions();
    spoil(join(keys, "b.key"));
    {
      await using log = encryptedLog(await openLog({ dir }), folderKeys(keys));
      const found = await verifyLog(log);
      expect(problems(found)).toEqual({ a: 0, b: 1, c: 0 });
      expect(found.problems).toEqual([]);
    }
    const { code, stdout } = await run(["--dir", dir, "--keys", keys, "--json", "verify"], {
      cwd: dir,
    });
    expect(code).toBe(1);
    expect(jsonLines(stdout)).toMatchObject([
      { session: "a", problems: [] },
      { session: "b", problems: [{ rule: "readable" }] },
      { session: "c", problems: [] },
    ]);
  });

  it("hides no other in the list and in the log", async () => {
    const { dir, keys } = await threeSessions();
    spoil(join(keys, "b.key"));
    const at = ["--dir", dir, "--keys", keys, "--json"];
    const list = await run([...at, "sessions"], { cwd: dir });
    expect([list.code, jsonLines(list.stdout).length]).toEqual([0, 3]);
    const all = await run([...at, "log"], { cwd: dir });
    const told = jsonLines(all.stdout).map((line): unknown => Reflect.get(Object(line), "session"));
    expect([all.code, [...new Set(told)]]).toEqual([0, ["a", "b", "c"]]);
  });
});

it("is a problem beside the damage of the log, which repair reports", async () => {
  const { dir, keys } = await threeSessions();
  {
    await using log = await openLog({ dir });
    await log.append("d", "none", numberedUpTo(5));
  }
  for (const name of readdirSync(join(dir, "log"))
    .filter((one) => one.endsWith(".ldb"))
    .slice(-1))
    writeFileSync(join(dir, "log", name), "");
  writeFileSync(join(keys, "b.key"), "");
  const at = ["--dir", dir, "--keys", keys, "--json"];
  expect((await run([...at, "verify"], { cwd: dir })).stderr).toContain("LOG_DAMAGED");
  const repaired = await run([...at, "repair"], { cwd: dir });
  expect(jsonLines(repaired.stdout)).toMatchObject([{ changed: true, unaccounted: 5 }]);
  const { stdout } = await run([...at, "verify"], { cwd: dir });
  expect(jsonLines(stdout)).toMatchObject([
    { session: "a", problems: [] },
    { session: "b", problems: [{ rule: "readable" }] },
    { session: "c", problems: [] },
  ]);
});

it("ends a rotation of the master key when all others are wrapped anew, and is named", async () => {
  const [former, current] = [randomBytes(32), randomBytes(32)];
  const { dir, keys } = await threeSessions((store) => masterKeys(store, { current: former }));
  const path = join(keys, "b.key");
  const good = readFileSync(path, "utf8");
  writeFileSync(path, good.slice(0, -20));
  await using log = await openLog({ dir });
  const both = masterKeys(folderKeys(keys), { current, previous: [former] });
  const failure: unknown = await both.rotate(log).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "KEY_WRONG", details: { sessions: ["b"] } });
  expect(String(failure)).toContain("Keep the former master keys");
  writeFileSync(path, good);
  expect(await both.rotate(log)).toEqual({ keys: 3, rotated: 1 });
});
