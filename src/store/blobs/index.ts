/** Blob stores in a folder and in memory. */

export { folderBlobs } from "./folder-blobs.ts";
export { memoryBlobs } from "./memory-blobs.ts";
