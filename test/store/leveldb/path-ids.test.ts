/** Sessions whose ids look like folders of each other, through all that a store does with its rows. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { forked, numbered, numberedUpTo } from "../../../src/testing/index.ts";
import { temporaryFolder } from "./disk.ts";

const ids = ["a", "a/b", "a/b/000000001", "a=002fb", "a%2Fb", "a~b", "a/b/"] as const;

it("keeps such sessions apart when they are written, listed, copied, repaired and deleted", async () => {
  const root = await temporaryFolder();
  const dir = join(root, "store");
  const log = await openLog({ dir, durability: "os" });
  for (const [index, id] of ids.entries()) {
    await log.append(id, "none", [numbered(1, "once"), ...numberedUpTo(index)]);
    await log.saveSnapshot(id, { projection: "p", version: 1, position: 1, state: id });
  }
  await log.fork("f/a", [forked("a/b", 2), numbered(9)]);
  const lengths = async (from: typeof log): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    for await (const { session } of from.list())
      found[session] = (await Array.fromAsync(from.read(session))).length;
    return found;
  };
  const expected: Record<string, number> = {
    ...Object.fromEntries(ids.map((id, index) => [id, index + 1])),
    "f/a": 4,
  };
  expect(await lengths(log)).toEqual(expected);
  expect((await Array.fromAsync(log.list({ prefix: "a/" }))).map(({ session }) => session)).toEqual(
    ["a/b", "a/b/", "a/b/000000001"],
  );
  const to = join(root, "copy");
  await log.backup(to);
  await log.delete("a/b", { forks: "copy" });
  await log.close();

  const { "a/b": _, ...left } = expected;
  await using reopened = await openLog({ dir });
  expect(await lengths(reopened)).toEqual(left);
  expect(await Array.fromAsync(reopened.deleted())).toEqual([{ session: "a/b", revision: 2 }]);
  expect(await repairLog({ dir: to })).toMatchObject({ changed: false });
  await using copy = await openLog({ dir: to });
  expect(await lengths(copy)).toEqual(expected);
  for (const id of ids) {
    expect(await copy.loadSnapshot(id, "p")).toMatchObject({ state: id });
    expect(await copy.append(id, "any", [numbered(1, "once")])).toMatchObject({ repeated: true });
  }
});
