/** What the command line reads from flags, files and the environment. */

export { type ContextStrategy, type Environment, readEnvironment } from "./environment.ts";
export { unlessInterrupted } from "./interrupted.ts";
export { mcpServers } from "./mcp-config.ts";
export { namedFile } from "./named-file.ts";
export { type ReadSource, readSource } from "./read-source.ts";
export { openDatabase } from "./database.ts";
export {
  type SessionsPlace,
  type StorePlace,
  type StoreUse,
  keysIn,
  masterKeysIn,
  openFolder,
  openSessions,
  ownerOf,
  type RuntimeStore,
  runtimeStore,
  storeName,
  openStore,
  agentOptions,
  sessionOptions,
  sharedSessions,
  storeOptions,
} from "./store-folder.ts";
