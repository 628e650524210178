/** Who holds a blob, and who takes it away. */
import { describe, expect, it } from "vitest";
import { BlobHolds } from "../../../src/store/blobs/blob-checks.ts";

describe("holding a blob", () => {
  it("waits until a removal of it that is under way is over: what is stored then stays", async () => {
    const holds = new BlobHolds();
    const removal = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const told: string[] = [];
    const collect = (remove: (sha256: string) => Promise<void>) =>
      holds.collect(
        async () => new Set(),
        {},
        {
          names: async () => ["a", "b"],
          sizeOf: async () => 1,
          remove,
        },
      );
    using other = await holds.hold({ sha256: "b", bytes: 1 });
    const collected = collect(async () => {
      begun.resolve();
      await removal.promise;
      told.push("removed");
    });
    await begun.promise;
    const held = holds.hold({ sha256: "a", bytes: 1 }).then((one) => {
      told.push("held");
      return one;
    });
    expect([told, other.sha256]).toEqual([[], "b"]);
    removal.resolve();
    expect(await collected).toEqual({ removed: 1, bytes: 1 });
    using _ = await held;
    expect(told).toEqual(["removed", "held"]);
    const again = await collect(async () => void told.push("removed again"));
    expect([again.removed, told.length]).toEqual([0, 2]);
  });

  it("ends once, however often it is given back: that of another stays", async () => {
    const holds = new BlobHolds();
    const one = holds.holdNamed(["a"]);
    using _ = holds.holdNamed(["a"]);
    for (let times = 0; times < 2; times++) one[Symbol.dispose]();
    const store = {
      names: async () => ["a"],
      sizeOf: async () => 1,
      remove: async (): Promise<void> => {},
    };
    const gone = await holds.collect(async () => new Set(), {}, store);
    expect(gone).toEqual({ removed: 0, bytes: 0 });
  });
});
