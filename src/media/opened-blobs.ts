/** Which blobs a runtime works with, by its options and its log. */

import type { BlobStore, EventLog } from "../events/index.ts";
import type { PreparedAgent } from "../agent/index.ts";
import type { BlobLimits, RecordedBlobs } from "./blob-offload.ts";
import type { SessionBlobs } from "./session-blobs.ts";

/** Where large content is stored, and its limits. */
export interface BlobOptions extends BlobLimits {
  /** Default: the blob store of the log. A custom log has none unless `openLog` made it. */
  readonly store?: BlobStore;
  /** For replays only. */
  readonly recorded?: RecordedBlobs;
}

export interface OpenedBlobs {
  /** Where they are read; undefined where nobody has any. */
  readonly store: BlobStore | undefined;
  /** Whether content is moved there. */
  readonly isKept: boolean;
  readonly limits: BlobLimits;
  readonly recorded?: RecordedBlobs | undefined;
}

/** The blobs that lie beside a log, where it knows of any. */
export function blobsOf(
  log: EventLog & { readonly blobs?: BlobStore | undefined },
): BlobStore | undefined {
  return log.blobs;
}

export function openBlobs(
  {
    blobs = {},
    encryption,
  }: { readonly blobs?: BlobOptions | false; readonly encryption?: object },
  log: EventLog,
): OpenedBlobs {
  // Blobs lie there in plain text, for whoever has their digest: what is encrypted stays in its event.
  if (blobs === false || encryption !== undefined)
    return { store: blobsOf(log), isKept: false, limits: {} };
  const { store = blobsOf(log), recorded, ...limits } = blobs;
  return { store, isKept: store !== undefined, limits, recorded };
}

/** The agent whose prompts are counted as they are sent. */
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
