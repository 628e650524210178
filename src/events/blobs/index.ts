/** Where blobs lie: in a folder, or in memory. */

export { folderBlobs, type FolderBlobsOptions } from "./folder-blobs.ts";
export { memoryBlobs } from "./memory-blobs.ts";
