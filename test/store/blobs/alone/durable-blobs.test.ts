/** A blob that was put outlives a power cut: it is written and synced before anything refers to it. */
import type * as Files from "node:fs/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { folderBlobs } from "../../../../src/store/blobs/folder-blobs.ts";
import { openMemoryLog } from "../../../../src/public/index.ts";
import { wrapLog } from "../../../../src/replay/index.ts";
import { mediaTurn } from "../../../support/media-turn.ts";
import { png } from "../../../support/media.ts";
import { blobContent } from "../blob-content.ts";

const { power } = await vi.hoisted(async () => {
  const { PowerCut } = await import("../power-cut.ts");
  return { power: new PowerCut() };
});

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof Files>();
  return { ...real, ...power.watched(real) };
});

const root = await mkdtemp(join(tmpdir(), "turnlog-durable-blobs-"));
afterAll(() => rm(root, { recursive: true, force: true }));

function pathOf(dir: string, sha256: string): string {
  return join(dir, sha256.slice(0, 2), sha256);
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 999) yield bytes.subarray(at, at + 999);
}

describe("a blob that was put outlives a power cut", () => {
  it("wherever it is the first, and however its bytes come", async () => {
    const dir = join(root, "put");
    const blobs = folderBlobs(dir);
    for (let number = 0; number < 8; number++) {
      const bytes = blobContent(number);
      using held = await blobs.put(number % 2 === 0 ? bytes : inPieces(bytes));
      expect(power.spares(pathOf(dir, held.sha256))).toBe(true);
    }
  });

  it("also where another one is put beside it at the same time", async () => {
    const dir = join(root, "beside");
    const blobs = folderBlobs(dir);
    const putting = Array.from({ length: 8 }, async (_, index) => {
      using held = await blobs.put(blobContent(index % 2));
      expect(power.spares(pathOf(dir, held.sha256))).toBe(true);
    });
    await Promise.all(putting);
  });

  it("also if it existed already without a sync", async () => {
    const dir = join(root, "again");
    using left = await folderBlobs(dir, { sync: false }).put(blobContent(1));
    expect(power.spares(pathOf(dir, left.sha256))).toBe(false);
    using held = await folderBlobs(dir).put(blobContent(1));
    expect(power.spares(pathOf(dir, held.sha256))).toBe(true);
  });
});

it("a power cut leaves the blobs of every event in the log: of messages, answers and replies", async () => {
  const dir = join(root, "events");
  await using log = await openMemoryLog();
  const spared: boolean[] = [];
  const watched = wrapLog(log, {
    append: (session, expected, events) => {
      for (const { type, data } of events) {
        if (type === "blob.stored") spared.push(power.spares(pathOf(dir, data.sha256)));
      }
      return log.append(session, expected, events);
    },
  });
  const pictures = [1, 2, 3].map((seed) => png({ width: 90, height: 60, seed }));
  await mediaTurn(watched, folderBlobs(dir), pictures);
  expect(spared).toEqual([true, true, true]);
});
