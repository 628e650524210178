/** What the first call of a function of `index.ts` loads: one file of the package, not one for each. */

export {
  exportFixture,
  exportSession,
  importModelMessages,
  importSession,
  importUIMessages,
  readSessionFile,
} from "../archive/exchange/index.ts";
export { redactSession } from "../archive/index.ts";
export { verifyLog, verifySession } from "../archive/verify/index.ts";
export { collectBlobs, promptWithMedia } from "../media/index.ts";
export { readContext } from "../runtime/index.ts";
export { viewSession } from "../state/index.ts";
export { openLog, openMemoryLog } from "../store/leveldb/index.ts";
