/** What a runtime is made of, and how its store is opened. */

import type { EventLog, RecoveryPolicy, TurnlogError } from "../events/index.ts";
import { openLog, openMemoryLog, type StoreLog } from "../events/leveldb/index.ts";
import type { Agent } from "./agent.ts";
import type { McpServers } from "./mcp/mcp-options.ts";
import type { StepSource } from "./step-source.ts";
import type { Timer } from "./timer.ts";

/** Where the log is kept. */
export type StoreOptions =
  | {
      /** The folder of the store; made when it is not there. */
      readonly dir: string;
      /** `sync` (default) survives a power cut, `os` the death of the process. */
      readonly durability?: "sync" | "os";
    }
  | { readonly memory: true }
  /** A log of your own; the runtime does not close it. */
  | { readonly log: EventLog };

export type RuntimeOptions = StoreOptions & {
  readonly agent: Agent;
  /**
   * MCP servers whose tools every session has beside its agent's own, as `server__tool`. They are
   * started when a message is sent for the first time, and closed with the runtime.
   */
  readonly mcp?: McpServers;
  /** What to do with a turn that a dead process left unfinished. Default `stop`. */
  readonly recovery?: RecoveryPolicy;
  /** How often one turn is gone on with after its process died, with `continue`. Default 3. */
  readonly maxRecoveries?: number;
  /**
   * Whether a hash chain is kept over the events of each session, so that `verify` finds any that is
   * changed or missing, also where checksums were made again. Default false.
   */
  readonly hashChain?: boolean;
  /** How a model call is made. Default `language-model-call`, the light way. */
  readonly stepSource?: StepSource["name"];
  /** Milliseconds after which an idle session is let go of. Default 60,000. */
  readonly idleAfterMs?: number;
  /** Milliseconds that a tool is given to end after it was told to stop. Default 1,000. */
  readonly graceMs?: number;
  /**
   * Told of trouble that loses nothing, such as a snapshot that could not be stored or an MCP server
   * that could not be started. Default: a process warning.
   */
  readonly onWarning?: (error: TurnlogError) => void;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
  readonly newId?: () => string;
  /** Counts the time that sessions wait: for limits, between attempts, for tools. Default: `setTimeout`. */
  readonly timer?: Timer;
  /** Between 0 and 1, for the jitter of retries. */
  readonly random?: () => number;
};

export async function openStore(
  options: Exclude<StoreOptions, { readonly log: EventLog }>,
): Promise<StoreLog> {
  if ("memory" in options) return await openMemoryLog();
  const { dir, durability = "sync" } = options;
  return await openLog({ dir, durability });
}
