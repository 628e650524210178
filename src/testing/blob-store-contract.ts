/** The contract of every `BlobStore`, as tests for any runner. Run it on your own implementation. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { readBlob, type BlobStore } from "../events/index.ts";
import type { ContractRunner } from "./event-log-contract.ts";
import { fails } from "./log-samples.ts";

export interface BlobStoreContract extends ContractRunner {
  /** Opens a new, empty store for each test. */
  readonly open: () => Promise<BlobStore>;
  /** Opens the content of a closed store again. Omit it for a store in memory. */
  readonly reopen?: (before: BlobStore) => Promise<BlobStore>;
}

type Promised = readonly [promise: string, check: (blobs: BlobStore) => Promise<void>];

function content(number: number, length = 1000): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + number) % 251);
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function putAll(blobs: BlobStore, count: number): Promise<readonly string[]> {
  const digests: string[] = [];
  for (let number = 0; number < count; number++) {
    using held = await blobs.put(content(number));
    digests.push(held.sha256);
  }
  return digests;
}

async function digestsIn(blobs: BlobStore): Promise<readonly string[]> {
  return (await Array.fromAsync(blobs.list())).map(({ sha256 }) => sha256);
}

const nothingUsed = async (): Promise<ReadonlySet<string>> => new Set();

const putting: readonly Promised[] = [
  [
    "gives back the bytes that were put, under their SHA-256",
    async (blobs) => {
      for (const bytes of [new Uint8Array(), content(1), content(2, 300_000)]) {
        using held = await blobs.put(bytes);
        assert.equal(held.sha256, hash("sha256", bytes));
        assert.equal(held.bytes, bytes.length);
        assert.deepEqual(await readBlob(blobs, held.sha256), Buffer.from(bytes));
        assert.equal(await blobs.has(held.sha256), true);
      }
    },
  ],
  [
    "takes bytes in pieces, and returns the same name however they are cut",
    async (blobs) => {
      const bytes = content(3, 100_000);
      using whole = await blobs.put(bytes);
      for (const size of [1 << 16, 999]) {
        using held = await blobs.put(inPieces(bytes, size));
        assert.equal(held.sha256, whole.sha256);
      }
      assert.deepEqual(await Array.fromAsync(blobs.list()), [
        { sha256: whole.sha256, bytes: bytes.length },
      ]);
    },
  ],
  [
    "keeps a stored blob apart from the array that it was given in",
    async (blobs) => {
      const bytes = content(4);
      using held = await blobs.put(bytes);
      bytes.fill(0);
      assert.deepEqual(await readBlob(blobs, held.sha256), Buffer.from(content(4)));
      const read = await readBlob(blobs, held.sha256);
      read.fill(0);
      assert.deepEqual(await readBlob(blobs, held.sha256), Buffer.from(content(4)));
    },
  ],
  [
    "stores content only once when it is put many times at the same time",
    async (blobs) => {
      const held = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          blobs.put(index % 2 === 0 ? content(5) : inPieces(content(5), 100)),
        ),
      );
      assert.equal((await digestsIn(blobs)).length, 1);
      for (const one of held) one[Symbol.dispose]();
    },
  ],
  [
    "refuses content that is larger than the limit, and stores nothing of it",
    async (blobs) => {
      const bytes = content(6, 1000);
      await fails("BLOB_TOO_LARGE", () => blobs.put(bytes, { maxBytes: 999 }));
      await fails("BLOB_TOO_LARGE", () => blobs.put(inPieces(bytes, 10), { maxBytes: 999 }));
      assert.deepEqual(await digestsIn(blobs), []);
      using held = await blobs.put(bytes, { maxBytes: 1000 });
      assert.deepEqual(await digestsIn(blobs), [held.sha256]);
    },
  ],
  [
    "stores nothing of a source that fails, or of a put that is aborted",
    async (blobs) => {
      const broken = async function* (): AsyncGenerator<Uint8Array> {
        yield content(7);
        throw new RangeError("it broke off");
      };
      await assert.rejects(() => blobs.put(broken()), RangeError);
      const gone = AbortSignal.abort(new RangeError("given up"));
      await assert.rejects(() => blobs.put(content(7), { signal: gone }), RangeError);
      assert.deepEqual(await digestsIn(blobs), []);
    },
  ],
  [
    "reports a missing blob as missing, and refuses a name that is not a digest",
    async (blobs) => {
      const absent = hash("sha256", "absent");
      assert.equal(await blobs.has(absent), false);
      const error = await fails("BLOB_MISSING", () => readBlob(blobs, absent));
      assert.equal(error.details["sha256"], absent);
      for (const name of ["", "../../etc/passwd", absent.toUpperCase(), `${absent}0`]) {
        await fails("INVALID_INPUT", () => blobs.has(name));
        await fails("INVALID_INPUT", () => readBlob(blobs, name));
      }
    },
  ],
  [
    "lists every blob once, by name",
    async (blobs) => {
      const digests = await putAll(blobs, 40);
      assert.deepEqual(await digestsIn(blobs), digests.toSorted());
    },
  ],
];

const collecting: readonly Promised[] = [
  [
    "removes unused blobs, and reports how much it removed",
    async (blobs) => {
      const [one = "", other = "", third = ""] = await putAll(blobs, 3);
      const collected = await blobs.collect(async () => new Set([other]));
      assert.deepEqual(collected, { removed: 2, bytes: 2000 });
      assert.deepEqual(await digestsIn(blobs), [other]);
      await fails("BLOB_MISSING", () => readBlob(blobs, one));
      assert.equal(await blobs.has(third), false);
    },
  ],
  [
    "removes only blobs among those that it is given",
    async (blobs) => {
      const [one = "", ...others] = await putAll(blobs, 3);
      const absent = hash("sha256", "absent");
      assert.equal((await blobs.collect(nothingUsed, { among: [one, absent] })).removed, 1);
      assert.deepEqual(await digestsIn(blobs), others.toSorted());
    },
  ],
  [
    "keeps a held blob until it is released",
    async (blobs) => {
      const held = await blobs.put(content(1));
      const again = await blobs.put(content(1));
      assert.equal((await blobs.collect(nothingUsed)).removed, 0);
      held[Symbol.dispose]();
      // Releasing twice is the same as once.
      held[Symbol.dispose]();
      assert.equal((await blobs.collect(nothingUsed)).removed, 0);
      again[Symbol.dispose]();
      assert.equal((await blobs.collect(nothingUsed)).removed, 1);
    },
  ],
  [
    "keeps blobs that are put during a collection, even if they were there before",
    async (blobs) => {
      const [old = ""] = await putAll(blobs, 1);
      let fresh = "";
      const collected = await blobs.collect(async () => {
        // The log was read before their events were written.
        for (const number of [0, 9]) {
          using held = await blobs.put(content(number));
          fresh = held.sha256;
        }
        return new Set();
      });
      assert.equal(collected.removed, 0);
      assert.equal(await blobs.has(old), true);
      assert.equal(await blobs.has(fresh), true);
    },
  ],
  [
    "never removes a blob that a caller has just put, however puts and collections overlap",
    async (blobs) => {
      const putting = Array.from({ length: 60 }, async (_, index) => {
        for (let turn = 0; turn < index % 7; turn++) await Promise.resolve();
        using held = await blobs.put(content(index % 3));
        assert.deepEqual(await readBlob(blobs, held.sha256), Buffer.from(content(index % 3)));
      });
      const collecting = Array.from({ length: 20 }, () => blobs.collect(nothingUsed));
      await Promise.all([...putting, ...collecting]);
    },
  ],
  [
    "removes nothing if the used blobs cannot be determined",
    async (blobs) => {
      const [one = ""] = await putAll(blobs, 1);
      const unknown = async (): Promise<never> => {
        throw new RangeError("the log cannot be read");
      };
      await assert.rejects(() => blobs.collect(unknown), RangeError);
      assert.equal(await blobs.has(one), true);
    },
  ],
  [
    "removes nothing while a copy is under way",
    async (blobs) => {
      await putAll(blobs, 2);
      {
        using _ = blobs.hold();
        assert.deepEqual(await blobs.collect(nothingUsed), { removed: 0, bytes: 0 });
      }
      assert.equal((await blobs.collect(nothingUsed)).removed, 2);
    },
  ],
  [
    "removes no blob that is held by its name, and removes all others",
    async (blobs) => {
      const [one = "", other = "", third = ""] = await putAll(blobs, 3);
      {
        using _ = blobs.hold([one, other, hash("sha256", "absent")]);
        using again = blobs.hold([one]);
        assert.deepEqual(await blobs.collect(nothingUsed), { removed: 1, bytes: 1000 });
        assert.equal(await blobs.has(third), false);
        again[Symbol.dispose]();
        again[Symbol.dispose]();
        assert.equal((await blobs.collect(nothingUsed)).removed, 0);
      }
      assert.equal((await blobs.collect(nothingUsed)).removed, 2);
    },
  ],
  [
    "keeps held blobs that it has reported as present, whatever collection was under way",
    async (blobs) => {
      for (let turns = 0; turns < 60; turns++) {
        const [one = ""] = await putAll(blobs, 1);
        const collecting = blobs.collect(nothingUsed);
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        for (let turn = 0; turn < turns % 6; turn++) await setImmediate();
        using _ = blobs.hold([one]);
        const isThere = await blobs.has(one);
        await collecting;
        assert.equal(await blobs.has(one), isThere);
      }
    },
  ],
];

/**
 * States the promises of a blob store as tests.
 * @example
 * import { describe, it } from "vitest";
 * blobStoreContract("my blobs", { describe, it, open: () => openMyBlobs() });
 */
export function blobStoreContract(
  name: string,
  { describe, it, open, reopen }: BlobStoreContract,
): void {
  describe(`blob store: ${name}`, () => {
    for (const [group, promises] of Object.entries({
      "put and get": putting,
      collect: collecting,
    })) {
      describe(group, () => {
        for (const [promise, check] of promises) it(promise, async () => check(await open()));
      });
    }
    if (reopen === undefined) return;
    it("has every stored blob after reopening, and holds none of them", async () => {
      const blobs = await open();
      const held = await blobs.put(content(1));
      const again = await reopen(blobs);
      assert.deepEqual(await readBlob(again, held.sha256), Buffer.from(content(1)));
      assert.equal((await again.collect(nothingUsed)).removed, 1);
      assert.deepEqual(await digestsIn(await reopen(again)), []);
    });
  });
}
