/** The blob store of a runtime, by its options and its log. */

import type { BlobStore, EventLog } from "../events/index.ts";
import type { PreparedAgent } from "../agent/index.ts";
import type { BlobLimits, RecordedBlobs } from "./blob-offload.ts";
import type { SessionBlobs } from "./blobs-of-session.ts";

export interface BlobOptions extends BlobLimits {
  /** Default: the blob store of the log (`EventLog.blobs`). */
  readonly store?: BlobStore;
  /** For replays only. */
  readonly recorded?: RecordedBlobs;
}

export interface OpenedBlobs {
  /** The store to read from; undefined without blobs. */
  readonly store: BlobStore | undefined;
  /** Whether new content is stored there. */
  readonly isKept: boolean;
  readonly limits: BlobLimits;
  readonly recorded?: RecordedBlobs | undefined;
}

export function openBlobs(
  {
    blobs = {},
    encryption,
  }: { readonly blobs?: BlobOptions | false; readonly encryption?: object },
  log: EventLog,
): OpenedBlobs {
  // Blobs are not encrypted, so an encrypted session keeps its content in events.
  if (blobs === false || encryption !== undefined)
    return { store: log.blobs, isKept: false, limits: {} };
  const { store = log.blobs, recorded, ...limits } = blobs;
  return { store, isKept: store !== undefined, limits, recorded };
}

/** An agent whose token counter gets prompts with their media. */
export function withExpansion(prepared: PreparedAgent, blobs: SessionBlobs): PreparedAgent {
  const { context } = prepared.agent;
  const counter = context?.counter;
  if (counter === undefined) return prepared;
  const expanding: typeof counter = {
    ...counter,
    count: async (request) =>
      await counter.count({ ...request, messages: await blobs.expand(request.messages) }),
  };
  return { ...prepared, agent: { ...prepared.agent, context: { ...context, counter: expanding } } };
}
