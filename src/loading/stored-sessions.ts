/** The functions that `index.ts` loads at their first call: one file of the package holds them all. */

export {
  exportFixture,
  exportPages,
  exportSession,
  importMessages,
  importSession,
  readSessionFile,
} from "../archive/exchange/index.ts";
export { readBill } from "../bill/index.ts";
export { verifyLog, verifySession } from "../archive/verify/index.ts";
export { collectBlobs, promptWithMedia } from "../media/index.ts";
export { readContext } from "../runtime/index.ts";
export { viewSession } from "../state/index.ts";
export { openLog, openMemoryLog } from "../store/leveldb/index.ts";
