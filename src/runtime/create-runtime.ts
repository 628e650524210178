/** Checks the options, opens the store, and makes the runtime on it. */

import { assertKeysOutside } from "../store/encryption/index.ts";
import type { DefinedEvents, EventSchemas, NoEvents } from "../events/index.ts";
import type { StoreService } from "../store/leveldb/index.ts";
import { openMcpServers, type OpenMcpServers } from "../mcp/index.ts";
import { agentRegistry, type AgentRegistry } from "./live/agent-registry.ts";
import { encrypted, openPrepared, type ShareStore, OpenRuntime } from "./open-runtime.ts";
import type { Runtime } from "./api/runtime.ts";
import { checkedOptions } from "./api/runtime-schema.ts";
import {
  hasLog,
  warningsTo,
  type RuntimeOptions,
  type RuntimeSettings,
} from "./api/runtime-options.ts";

/**
 * Opens a store and runs sessions of an agent on it.
 * @param share - Serves the store to other processes. The module `sharing` gives it: it is above this one.
 * @example
 * await using runtime = await createRuntime({ dir: ".turnlog", agent: { model, instructions, tools } });
 * const session = await runtime.session("s-1");
 * const turn = await session.send("Which tests failed?");
 * const { text } = await turn.result;
 * @throws TurnlogError `INVALID_INPUT`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_DAMAGED`, `LOG_TOO_NEW`,
 * `LOG_READ_ONLY`
 */
export async function createRuntime<Events extends EventSchemas = NoEvents>(
  given: RuntimeOptions & { readonly events?: DefinedEvents<Events> },
  share?: ShareStore,
): Promise<Runtime<Events>> {
  const options = checkedOptions(given);
  // Before a store is created.
  if ("dir" in options && options.dir !== undefined && options.encryption !== undefined)
    assertKeysOutside(options.encryption.keys, options.dir);
  if (hasLog(options)) {
    const agents = await agentRegistry(options, options.mcp);
    const mcp = await serversOf(options, agents);
    return new OpenRuntime(options, agents, mcp, await encrypted(options, options.log));
  }
  const service: StoreService = {};
  const { agents, store } = await openPrepared(options, share && service);
  try {
    const mcp = await serversOf(options, agents);
    const runtime = new OpenRuntime(options, agents, mcp, await encrypted(options, store), store);
    if (share !== undefined) runtime.share(service, share(runtime, store));
    return runtime;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function serversOf(
  options: RuntimeSettings,
  { toolNames: taken }: AgentRegistry,
): Promise<OpenMcpServers | undefined> {
  const onWarning = warningsTo(options.onWarning);
  return await openMcpServers(options.mcp, { clock: Date.now, ...options, onWarning, taken });
}
