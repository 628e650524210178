/**
 * Prints the heap after a collection, some twenty times, while sessions come and go on LevelDB, each line as JSON:
 * `npm run test:heap -- <new folder> [turns] [sessions]`; 20,000 turns over 2,000 sessions if left out.
 */

import { openLog } from "../../src/public/index.ts";
import { heapAfter } from "./heap.ts";
import { world } from "./lives.ts";

const [, , dir = "", turns = "20000", sessions = "2000"] = process.argv;
await using log = await openLog({ dir, durability: "os" });
await using all = await world(log);
const of = Number(sessions);
const lines = Number(turns) / Math.min(Number(turns), 20);
/** Sessions that talk at the same time. */
const CROWD = 8;
let next = 0;
async function visitor(): Promise<void> {
  while (next < Number(turns)) {
    const turn = next++;
    // Each comes back after all the others have had a turn.
    await all.turn(`s-${turn % of}`, Math.floor(turn / of) + turn);
    if ((turn + 1) % lines === 0) await report(turn + 1);
  }
}
async function report(done: number): Promise<void> {
  const megabytes = await heapAfter();
  console.log(
    JSON.stringify({
      turns: done,
      megabytes,
      resident: Math.round(process.memoryUsage.rss() / 1e6),
    }),
  );
}
await Promise.all(Array.from({ length: Math.min(CROWD, of) }, visitor));
await all.allPassive();
console.log(JSON.stringify({ turns: "passive", megabytes: await heapAfter() }));
