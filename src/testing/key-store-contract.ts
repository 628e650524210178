/** The contract of every `KeyStore`, as tests for any runner. Run it on your own implementation before you use it. */

import assert from "node:assert/strict";
import type { KeyStore } from "../store/encryption/index.ts";
import type { ContractRunner } from "./event-log-contract.ts";

export interface KeyStoreContract extends ContractRunner {
  /** Makes a new, empty key store. */
  readonly open: () => Promise<KeyStore>;
  /** The same keys, as another process finds them. Omit it for keys in memory. */
  readonly reopen?: (keys: KeyStore) => Promise<KeyStore>;
}

/**
 * States the promises of a key store as tests.
 * @example
 * import { describe, it } from "vitest";
 * keyStoreContract("my keys", { describe, it, open: () => openMyKeys() });
 */
export function keyStoreContract(
  name: string,
  { describe, it, open, reopen }: KeyStoreContract,
): void {
  describe(`key store: ${name}`, () => {
    it("has the last saved text under each name, and nothing under any other name", async () => {
      const keys = await open();
      const names = ["a", "A", "a.b", "a:b", "aCb", "a@b", "a-b", "x".repeat(128), "-unfinished"];
      for (const session of names) {
        assert.equal(await keys.load(session), undefined);
        await keys.save(session, `first of ${session}`);
      }
      for (const session of names) await keys.save(session, `last of ${session}\n"é"`);
      for (const session of names)
        assert.equal(await keys.load(session), `last of ${session}\n"é"`);
      await keys.save("a", "x".repeat(300_000));
      assert.equal((await keys.load("a"))?.length, 300_000);
      await keys.save("a", "short");
      assert.equal(await keys.load("a"), "short");
    });

    it("has nothing under an erased name, however often it was erased, and keeps everything else", async () => {
      const keys = await open();
      await keys.save("a", "1");
      await keys.save("b", "2");
      await keys.erase("a");
      await keys.erase("a");
      await keys.erase("never");
      assert.equal(await keys.load("a"), undefined);
      assert.equal(await keys.load("b"), "2");
      await keys.save("a", "again");
      assert.equal(await keys.load("a"), "again");
    });

    it("keeps the order of calls that do not wait for each other", async () => {
      const keys = await open();
      const calls: Promise<unknown>[] = [];
      for (let number = 0; number < 20; number++)
        for (const session of ["a", "b"]) calls.push(keys.save(session, `${session} ${number}`));
      calls.push(keys.erase("b"));
      await Promise.all(calls);
      assert.equal(await keys.load("a"), "a 19");
      assert.equal(await keys.load("b"), undefined);
    });

    if (reopen === undefined) return;
    it("has everything that was saved when it is opened again", async () => {
      const keys = await open();
      await keys.save("a", "1");
      await keys.save("b", "2");
      await keys.erase("b");
      const again = await reopen(keys);
      assert.equal(await again.load("a"), "1");
      assert.equal(await again.load("b"), undefined);
    });
  });
}
