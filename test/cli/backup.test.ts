/** `turnlog backup`, and what is said of a store that another process has. */

import { expect, it } from "vitest";
import { createRuntime } from "../../src/runtime/index.ts";
import { openLog } from "../../src/store/leveldb/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

it("copies a store into a folder that is a store: verified, and gone on with", async () => {
  await using folder = await temporaryFolder({ "a.txt": "one" });
  const cwd = folder.path;
  await run(["--session", "one", "list the files"], { cwd });
  const made = await run(["backup", "copy"], { cwd });
  expect(made).toMatchObject({ code: 0 });
  expect(made.stdout).toMatch(/copy holds a copy of 1 session with \d+ events/);
  expect(made.stderr).toMatch(/^(\d+) of \1 events\n$/);
  const before = await run(["show", "one", "--json"], { cwd });
  expect(await run(["--dir", "copy", "show", "one", "--json"], { cwd })).toEqual(before);
  expect(await run(["--dir", "copy", "verify"], { cwd })).toMatchObject({ code: 0 });
  const spoken = await run(["--dir", "copy", "--session", "one", "list the files"], { cwd });
  expect(spoken).toMatchObject({ code: 0 });
  expect(await run(["--dir", "copy", "verify"], { cwd })).toMatchObject({ code: 0 });

  const again = await run(["backup", "copy", "--json"], { cwd });
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toContain("[INVALID_INPUT]");
  const [report] = jsonLines((await run(["backup", "other", "--json"], { cwd })).stdout);
  expect(report).toMatchObject({ dir: folder.at("other"), sessions: 1 });
});

it("says of a store that is in use who copies it, and that one does while it runs", async () => {
  await using folder = await temporaryFolder({});
  const cwd = folder.path;
  const model = scriptedModel(["hello"]);
  await using runtime = await createRuntime({ dir: folder.at(".turnlog"), agent: { model } });
  const session = await runtime.session("one");
  const turn = await session.send("hi");
  await turn.result;
  const refused = await run(["backup", "copy"], { cwd });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/runtime\.backup.*\[LOG_LOCKED\]/s);
  await runtime.backup(folder.at("copy"));
  await using copy = await openLog({ dir: folder.at("copy"), create: false });
  expect(await Array.fromAsync(copy.read("one"))).toEqual(
    await Array.fromAsync(runtime.log.read("one")),
  );

  await using own = await createRuntime({ log: copy, agent: { model } });
  await expect(own.backup(folder.at("more"))).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
});
