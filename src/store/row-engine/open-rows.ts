/** Opens the engine on a store of rows that needs no more than the port. LevelDB's files are checked by more than this. */

import type { Engine } from "../engine/index.ts";
import { checkChain } from "./read/chain-check.ts";
import { engineOnRows } from "./row-engine.ts";
import { chainStart } from "./rows/commit-record.ts";
import type { RowStore } from "./rows/row-store.ts";
import { eraseLeft } from "./upkeep/erasure.ts";
import { catchUpIndex } from "./upkeep/opening.ts";
import type { Committer } from "./write/committer.ts";

/**
 * The engine on a store of rows that nothing else writes to. It closes the store.
 * @throws TurnlogError `LOG_DAMAGED`, and what the store throws
 */
export async function rowEngine(store: RowStore): Promise<Engine> {
  const { undoes } = store;
  const eraser = store.erase?.bind(store);
  const chain = await checkChain(store, chainStart);
  await catchUpIndex(store, chain.since);
  if (eraser !== undefined) await eraseLeft(store, eraser);
  const release = async (committer: Committer): Promise<void> => {
    try {
      const { failure, written } = committer;
      if (failure !== undefined || written.position === chain.checked.position) return;
      // The next opening then checks nothing but the end.
      const last = store.batch();
      committer.settle(last);
      await last.write({ sync: true });
    } finally {
      await store.close();
    }
  };
  return engineOnRows(store, { sync: true, undoes, eraser, ...chain, release }).engine;
}
