/** Opens the store of a runtime: before its sessions, and together with its agents. */

import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { EventLog } from "../events/index.ts";
import { withPlainEvents } from "../shared/index.ts";
import { encryptedLog } from "../store/encryption/index.ts";
import type { StoreLog, StoreService } from "../store/leveldb/index.ts";
import { agentRegistry, type AgentRegistry } from "./live/agent-registry.ts";
import type { Runtime } from "./api/runtime.ts";
import { openStore, type RuntimeSettings } from "./api/runtime-options.ts";

/** Prepares the agents while the disk takes the store's lock. An error of an agent is thrown first. */
export async function openPrepared(
  options: Exclude<RuntimeSettings, { readonly log: EventLog }>,
  service: StoreService | undefined,
): Promise<{ readonly agents: AgentRegistry; readonly store: StoreLog }> {
  const [store, agents] = await Promise.allSettled([
    openStore(options, service),
    setImmediate().then(() => agentRegistry(options, options.mcp)),
  ]);
  if (agents.status === "rejected") {
    if (store.status === "fulfilled") await store.value.close();
    throw agents.reason;
  }
  if (store.status === "rejected") throw store.reason;
  return { agents: agents.value, store: store.value };
}

/** Finishes the erasures that earlier processes began, before anything is read. */
export async function encrypted({ encryption }: RuntimeSettings, log: EventLog): Promise<EventLog> {
  if (encryption === undefined) return withPlainEvents(log);
  const encrypting = encryptedLog(log, encryption.keys);
  await encrypting.settled();
  return encrypting;
}

/** Serves a store to other processes while its runtime is open. */
export interface SharedStore {
  /** Takes a connection to the store's socket. */
  readonly accept: (connection: Socket) => void;
  /** Ends all connections. */
  readonly close: () => Promise<void>;
}

export type ShareStore = (runtime: Runtime, store: StoreLog) => SharedStore;
