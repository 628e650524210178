/** An event log that encrypts the content of another log, and its keys. */

export { hasContent, isEncrypted, decryptedEvent } from "./encrypted-event.ts";
export type { EncryptedLog, LogInFolder } from "./encrypted-log.ts";
export { asEncrypted, encryptedLog, encryptingLog } from "./encrypting-log.ts";
export { folderKeys } from "./folder-keys.ts";
export { masterKeys } from "./master-keys.ts";
export { keyMissing, type KeyStore, memoryKeys, assertKeysOutside } from "./key-store.ts";
