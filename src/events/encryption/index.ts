/** The face of `encryption`: a log whose content is encrypted, and where its keys are kept. */

export type { EncryptedLog, EncryptedLogOptions, Erasure, LogWithBlobs } from "./encrypted-log.ts";
export { assertKeysOutside } from "./keys-outside.ts";
export { asEncrypted, encryptedLog } from "./sealing-log.ts";
export { folderKeys } from "./folder-keys.ts";
export { keyMissing } from "./key-errors.ts";
export { memoryKeys, type KeyStore } from "./key-store.ts";
export { hasContent, isSealed, openedEvent } from "./sealed-event.ts";
