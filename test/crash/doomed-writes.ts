/**
 * Preloaded (`node --import`) into a process whose n-th write of a batch is its end, as
 * `TURNLOG_DOOM` says: `kill-before <n>`, `kill-after <n>` or `fail <n>`. Says `doomed` on stderr then.
 */

import { writeSync } from "node:fs";
import { Level } from "level";
import { z } from "zod";
import type { WriteBatch } from "../../src/store/leveldb/index.ts";

const [how, at] = z
  .tuple([z.enum(["kill-before", "kill-after", "fail"]), z.coerce.number().int().positive()])
  .parse(process.env["TURNLOG_DOOM"]?.split(" "));

let writes = 0;
// It is called on the database again that it is taken from.
// oxlint-disable-next-line typescript/unbound-method
const { batch } = Level.prototype;

function doomed(this: Level): WriteBatch {
  const made: WriteBatch = batch.call(this);
  const write = made.write.bind(made);
  made.write = async (options) => {
    writes += 1;
    if (writes !== at) return await write(options);
    writeSync(2, "doomed\n");
    if (how === "fail") throw new Error("IO error: no luck");
    if (how === "kill-after") await write(options);
    process.kill(process.pid, "SIGKILL");
    // It is dead before anything else of it runs.
    return await new Promise<never>(() => {});
  };
  return made;
}

Object.defineProperty(Level.prototype, "batch", { value: doomed });
