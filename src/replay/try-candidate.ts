/**
 * Tries an agent on a recorded session: its model is called, its tools answer from the recording. For `compare`.
 */

import { memoryBlobs } from "../store/blobs/index.ts";
import {
  renumbered,
  replayableEvents,
  type BlobStore,
  type NewEvent,
  type SessionEvent,
} from "../events/index.ts";
import { onAbort } from "../shared/index.ts";
import { openMemoryLog } from "../store/leveldb/index.ts";
import { CandidateLane, type CandidateOptions, type LaneStop } from "./candidate-lane.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { checkedAgent, checkedRecording, type ReplayedAgent } from "./replay.ts";
import { ReplayStage } from "./replay-stage.ts";

export interface TryOptions extends Pick<
  CandidateOptions,
  "same" | "onMiss" | "onCall" | "stallMs"
> {
  /** Where the media of the recording are. Only read. */
  readonly blobs?: BlobStore | undefined;
  readonly onEvent?: (event: NewEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface Tried {
  /** The session of the candidate. */
  readonly events: readonly SessionEvent[];
  /** Absent if the candidate came to the end of the recording. */
  readonly stopped?: LaneStop;
}

/** Milliseconds without an event, and without work that takes time, after which nothing is expected any more. */
const PATIENCE_MS = 500;

export async function tryCandidate(
  events: readonly SessionEvent[],
  agent: ReplayedAgent,
  { blobs, onEvent = () => {}, signal, ...options }: TryOptions,
): Promise<Tried> {
  const created = checkedRecording(events);
  const plain = renumbered(replayableEvents(events));
  const agentOf = checkedAgent(agent, "compare");
  agentOf(created.data.agent);
  await using log = await openMemoryLog();
  const order = new RecordedOrder(plain);
  const lane = new CandidateLane({ events: plain, order, onEvent, ...options });
  const stage = new ReplayStage(created, {
    log,
    events: plain,
    agentOf,
    blobs: readThrough(blobs, () => {
      lane.stop({ at: "failure", why: "A file of the recording is missing: give its `blobs`." });
    }),
    patienceMs: PATIENCE_MS,
    order,
    lane,
  });
  const stopping = onAbort(signal, () => {
    lane.stop({ at: "failure", why: "It was stopped." });
  });
  const name = await stage.play();
  stopping[Symbol.dispose]();
  const made = await Array.fromAsync(log.read(name));
  return { events: made, ...(lane.stopped && { stopped: lane.stopped }) };
}

/** Reads from a store of blobs, and writes to none. @param onMissing - Called for a file that is in none */
function readThrough(source: BlobStore | undefined, onMissing: () => void): BlobStore {
  const own = memoryBlobs();
  return {
    ...own,
    has: async (sha256) => (await own.has(sha256)) || (await source?.has(sha256)) === true,
    async *get(sha256) {
      const isOwn = await own.has(sha256);
      const from = !isOwn && (await source?.has(sha256)) === true ? source : own;
      if (!isOwn && from === own) onMissing();
      yield* (from ?? own).get(sha256);
    },
  };
}
