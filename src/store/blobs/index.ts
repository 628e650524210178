/** Blob stores in a folder and in memory, and the checks of all blob stores. */

export {
  assertDigest,
  collectSchema,
  damaged,
  missing,
  putSchema,
  tooLarge,
} from "./blob-checks.ts";
export { folderBlobs } from "./folder-blobs.ts";
export { memoryBlobs } from "./memory-blobs.ts";
