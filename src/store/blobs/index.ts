/** Blob stores in a folder and in memory. */

export { type FolderBlobsOptions, folderBlobs } from "./folder-blobs.ts";
export { memoryBlobs } from "./memory-blobs.ts";
