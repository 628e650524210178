/** Who holds a blob, and who takes it away. */
import { describe, expect, it } from "vitest";
import { BlobHolds } from "../../../src/store/blobs/blob-checks.ts";

describe("holding a blob", () => {
  it("waits until a removal of it that is under way is over: what is stored then stays", async () => {
    const holds = new BlobHolds();
    const removal = Promise.withResolvers<void>();
    using collection = holds.collection();
    const told: string[] = [];
    const removed = collection.remove("a", async () => {
      await removal.promise;
      told.push("removed");
    });
    const held = holds.hold({ sha256: "a", bytes: 1 }).then((one) => {
      told.push("held");
      return one;
    });
    using other = await holds.hold({ sha256: "b", bytes: 1 });
    expect(told).toEqual([]);
    removal.resolve();
    expect(await removed).toBe(true);
    using _ = await held;
    expect(told).toEqual(["removed", "held"]);
    expect(await collection.remove("a", async () => {})).toBe(false);
    expect(await collection.remove(other.sha256, async () => {})).toBe(false);
  });
});
