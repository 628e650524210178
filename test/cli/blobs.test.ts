/** Media on the command line: exported and imported with their session, deleted with it, collected, copied. */

import { hash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { createRuntime, openLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { jsonLines, run } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const shot = png({ width: 90, height: 60, seed: 1 });
const sha256 = hash("sha256", shot);

/** A store with a session that was shown a picture, and a blob that no session has. */
async function withPicture(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  await using log = await openLog({ dir: folder.at(".turnlog"), durability: "os" });
  await using runtime = await createRuntime({ log, agent: { model: scriptedModel(["Seen."]) } });
  const session = await runtime.session("one");
  await (
    await session.send([{ type: "file", data: shot, mediaType: "image/png" }])
  ).result;
  using _ = await log.blobs.put(png({ width: 90, height: 60, seed: 2 }));
  return folder;
}

it("takes a session's media to another store, in its file or beside it", async () => {
  await using from = await withPicture();
  await using to = await temporaryFolder();
  await run(["export", "one", "--out", "one.jsonl"], { cwd: from.path });
  await run(["export", "one", "--out", "two.jsonl", "--blobs", "media"], { cwd: from.path });
  const at = { cwd: to.path };
  expect(await run(["import", from.at("one.jsonl")], at)).toMatchObject({ code: 0 });
  expect(await run(["verify"], at)).toMatchObject({ code: 0 });
  await run(["delete", "one", "--yes"], at);
  const two = ["import", from.at("two.jsonl"), "--id", "two"];
  const refused = await run(two, at);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/--blobs.*\[BLOB_MISSING\]/s);
  expect(await run([...two, "--blobs", from.at("media")], at)).toMatchObject({ code: 0 });
  expect(await run(["verify"], at)).toMatchObject({ code: 0 });
});

it("collects what no session has, and says what a deletion took along", async () => {
  await using folder = await withPicture();
  const at = { cwd: folder.path };
  const collected = await run(["gc", "--json"], at);
  expect(jsonLines(collected.stdout)).toMatchObject([{ removed: 1 }]);
  expect((await run(["gc"], at)).stdout).toContain("0 blobs that no session uses");
  expect((await run(["delete", "one", "--yes"], at)).stdout).toMatch(/and 1 blob\./);
  expect((await run(["gc"], at)).stdout).toContain("0 blobs that no session uses");
});

it("says of a blob that is gone where it belongs, and copies what is left", async () => {
  await using folder = await withPicture();
  const at = { cwd: folder.path };
  expect((await run(["backup", "whole"], at)).stdout).toContain("and 1 blob.");
  await rm(folder.at(`.turnlog/blobs/${sha256.slice(0, 2)}/${sha256}`));
  const verified = await run(["verify"], at);
  expect(verified.code).toBe(1);
  expect(verified.stdout).toContain(`blobs: Blob ${sha256} is missing`);
  const exported = await run(["export", "one"], at);
  expect(exported).toMatchObject({ code: 0 });
  expect(exported.stderr).toContain(`Left out: Blob ${sha256}`);
  const copied = await run(["backup", "rest"], at);
  expect(copied.code).toBe(0);
  expect(copied.stderr).toContain(`${sha256} is missing or damaged`);
});

it("repair says of blobs what verify says, and sets an altered one aside", async () => {
  await using folder = await withPicture();
  const at = { cwd: folder.path };
  const path = folder.at(`.turnlog/blobs/${sha256.slice(0, 2)}/${sha256}`);
  const sound = await run(["repair"], at);
  expect(sound.stdout).toMatch(/is sound: 1 session with \d+ events and 1 blob\. Nothing was/);

  await writeFile(path, "altered");
  const altered = await run(["repair"], at);
  expect(altered.code).toBe(0);
  expect(altered.stdout).toMatch(/^The log of the store in .* is sound/);
  expect(altered.stdout).toMatch(
    new RegExp(`1 blob gone:\n  ${sha256}, which one has from .*: it was altered, and is kept as`),
  );
  const aside = folder.at(`.turnlog/blobs.damaged/${sha256}`);
  expect(await readFile(aside, "utf8")).toBe("altered");
  const [report] = jsonLines((await run(["repair", "--json"], at)).stdout);
  expect(report).toMatchObject({ changed: false, blobs: 0, lostBlobs: [{ sha256 }] });
  expect((await run(["verify"], at)).stdout).toContain(`Blob ${sha256} is missing`);

  await writeFile(path, shot);
  expect((await run(["repair"], at)).stdout).toContain("is sound: 1 session");
  expect(await run(["verify"], at)).toMatchObject({ code: 0 });
});
