/** Opens a store in a worker thread or a worker of `cluster`, says `open` or the error's code, and keeps it. */
import cluster from "node:cluster";
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { TurnlogError } from "../../../src/events/index.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";

const dir = z.string().parse(cluster.isWorker ? process.env["STORE"] : workerData);
const tell = (what: string): void => {
  if (cluster.isWorker) process.send?.(what);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  else parentPort?.postMessage(what);
};
try {
  await openLog({ dir });
  tell("open");
} catch (error) {
  tell(TurnlogError.isInstance(error) ? error.code : String(error));
}
// An open store alone keeps nobody alive.
setInterval(() => {}, 60_000);
