/** What a repair finds in the rows of a store, and how it writes them. */
import { MemoryLevel } from "memory-level";
import { expect } from "vitest";
import { z } from "zod";
import { StoreCopy, type Damage } from "../../../src/store/leveldb/copy/store-copy.ts";
import { lastChecked } from "../../../src/store/row-engine/read/chain-check.ts";
import { type RowStore, firstOf } from "../../../src/store/row-engine/rows/row-store.ts";
import { under } from "../../../src/store/row-engine/rows/keys.ts";
import { withChecksum } from "../../../src/store/row-engine/rows/commit-record.ts";

async function memory(): Promise<MemoryLevel> {
  const rows = new MemoryLevel({ storeEncoding: "utf8" });
  await rows.open();
  return rows;
}

async function copyOf(source: RowStore): Promise<{ rows: MemoryLevel; damages: Damage[] }> {
  const rows = await memory();
  const damages: Damage[] = [];
  const { position: indexed } = await lastChecked(source);
  const onDamage = (damage: Damage): void => void damages.push(damage);
  await new StoreCopy(source, rows, { indexed, onDamage }).write();
  return { rows, damages };
}

/** What a repair would find. */
export async function damagesIn(source: RowStore): Promise<readonly Damage[]> {
  return (await copyOf(source)).damages;
}

/** The first commit record, as good as it was but for the chain: a repair writes all of them anew. */
export async function breakChain(rows: RowStore): Promise<boolean> {
  const first = await firstOf(rows, under("c/"));
  if (first === undefined) return false;
  const [key, row] = first;
  const [, ...rest] = z.array(z.unknown()).parse(JSON.parse(row.slice(7)));
  const batch = rows.batch();
  batch.put(key, withChecksum(key, ["another", ...rest]));
  await batch.write({ sync: false });
  return true;
}

/** The rows as a repair writes them when none of the commit records can be copied as it is. */
export async function rewritten(source: MemoryLevel): Promise<MemoryLevel> {
  expect(await damagesIn(source)).toEqual([]);
  const altered = await memory();
  for await (const [key, row] of source.iterator()) await altered.put(key, row);
  if (!(await breakChain(altered))) return (await copyOf(altered)).rows;
  const { rows, damages } = await copyOf(altered);
  expect(damages).toMatchObject([{ position: 1 }]);
  expect(await damagesIn(rows)).toEqual([]);
  return rows;
}
