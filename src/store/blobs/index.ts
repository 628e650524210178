/** Blob stores in a folder and in memory, and the checks of all blob stores. */

export {
  assertDigest,
  collected,
  collectSchema,
  damaged,
  missing,
  putSchema,
} from "./blob-checks.ts";
export { folderBlobs } from "./folder-blobs.ts";
export { memoryBlobs } from "./memory-blobs.ts";
