/** Blobs in a folder: what kills, damage and other people's files leave of them. */
import { hash } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { folderBlobs } from "../../../src/store/blobs/folder-blobs.ts";
import { readBlob } from "../../../src/events/index.ts";
import { builtOnce } from "../../support/bundled.ts";
import { times } from "../../support/runs.ts";
import { blobContent } from "./blob-content.ts";

const root = await mkdtemp(join(tmpdir(), "turnlog-folder-blobs-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const script = await builtOnce(new URL("put-child.ts", import.meta.url));

/** Runs the child until it has said so many lines, and kills it then. */
async function killedAfter(dir: string, first: number, lines: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [script, dir, `${first}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (said.split("\n").length > lines) child.kill("SIGKILL");
  });
  await once(child, "close");
  return said.split("\n").slice(0, -1);
}

describe("blobs in a folder", () => {
  it("are whole or not there, whenever their process is killed", async () => {
    const dir = join(root, "killed");
    for (let round = 0; round < times(6); round++) {
      const said = await killedAfter(dir, round * 1000, 1 + round * 3);
      const blobs = folderBlobs(dir);
      expect(said.length).toBeGreaterThan(round * 3);
      for (const line of said) {
        const [number = "", sha256 = ""] = line.split(" ");
        expect(await readBlob(blobs, sha256)).toEqual(Buffer.from(blobContent(Number(number))));
      }
      for await (const { sha256 } of blobs.list()) {
        expect(hash("sha256", await readBlob(blobs, sha256))).toBe(sha256);
      }
    }
    // What the last of them was writing is gone once somebody else writes.
    using _ = await folderBlobs(dir).put(blobContent(1));
    expect(await readdir(join(dir, "incoming"))).toEqual([]);
  });

  it("say of one that was altered or cut that it is not what was stored, and are mended by the same content", async () => {
    const dir = join(root, "altered");
    const blobs = folderBlobs(dir);
    const content = blobContent(5);
    for (const alter of [
      (path: string) => truncate(path, 100),
      (path: string) => writeFile(path, Uint8Array.from(content).fill(1, 50, 51)),
    ]) {
      using held = await blobs.put(content);
      await alter(join(dir, held.sha256.slice(0, 2), held.sha256));
      await expect(readBlob(blobs, held.sha256)).rejects.toMatchObject({
        code: "BLOB_DAMAGED",
        details: { sha256: held.sha256 },
      });
      using again = await blobs.put(content);
      expect(await readBlob(blobs, again.sha256)).toEqual(Buffer.from(content));
    }
  });

  it("are written to the end when this process opens their folder once more", async () => {
    const dir = join(root, "twice");
    const [began, goes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield blobContent(8);
      began.resolve();
      await goes.promise;
      yield blobContent(9);
    }
    const first = folderBlobs(dir);
    const writing = first.put(slow());
    await began.promise;
    using _ = await folderBlobs(dir).put(blobContent(10));
    goes.resolve();
    using held = await writing;
    const whole = Buffer.concat([blobContent(8), blobContent(9)]);
    expect(await readBlob(first, held.sha256)).toEqual(whole);
  });

  it("leave files alone that are not theirs", async () => {
    const dir = join(root, "foreign");
    const blobs = folderBlobs(dir);
    using held = await blobs.put(blobContent(6));
    await mkdir(join(dir, "notes"));
    await writeFile(join(dir, "ab.txt"), "mine");
    await writeFile(join(dir, held.sha256.slice(0, 2), "readme"), "mine");
    expect(await Array.fromAsync(blobs.list())).toEqual([
      { sha256: held.sha256, bytes: held.bytes },
    ]);
    held[Symbol.dispose]();
    expect((await blobs.collect(async () => new Set())).removed).toBe(1);
    expect(await readdir(join(dir, held.sha256.slice(0, 2)))).toEqual(["readme"]);
  });

  it("leave nothing of content that breaks off", async () => {
    const dir = join(root, "broken-off");
    const blobs = folderBlobs(dir);
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from("half"));
      throw new Error("The line is gone.");
    };
    await expect(blobs.put(broken())).rejects.toThrow("The line is gone.");
    expect(await readdir(join(dir, "incoming"))).toEqual([]);
    expect(await Array.fromAsync(blobs.list())).toEqual([]);
  });

  it("say of a folder that cannot be written that nothing was stored", async () => {
    const file = join(root, "a-file");
    await writeFile(file, "in the way");
    await expect(folderBlobs(join(file, "blobs")).put(blobContent(7))).rejects.toMatchObject({
      code: "LOG_FAILED",
    });
  });
});
