/**
 * Tries an agent on a recorded session: its model is called, its tools answer from the recording. For `compare`.
 */

import type { Agent } from "../agent/index.ts";
import { createRuntime } from "../runtime/index.ts";
import { isIdle, readSessionState } from "../state/index.ts";
import { memoryBlobs } from "../store/blobs/index.ts";
import {
  defined,
  describedAgent,
  renumbered,
  replayableEvents,
  type AgentDescription,
  type BlobStore,
  type EventLog,
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
  /** The events that follow them and end the turn in which it stopped, so that no runtime continues it. */
  readonly ending: readonly SessionEvent[];
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
  await endTurn(log, name, made, agentOf);
  const ending = await Array.fromAsync(log.read(name, { from: made.length + 1 }));
  return { events: made, ending, ...(lane.stopped && { stopped: lane.stopped }) };
}

/** Ends the turn in which a lane stopped. A turn that was cancelled calls no model and no tool. */
async function endTurn(
  log: EventLog,
  session: string,
  made: readonly SessionEvent[],
  agentOf: (recorded: AgentDescription) => Agent,
): Promise<void> {
  const state = await readSessionState(log, session);
  const agent = made.reduce<AgentDescription | undefined>(
    (before, event) => describedAgent(event) ?? before,
    undefined,
  );
  if (agent === undefined || isIdle(state)) return;
  const { machine, position, queue } = state;
  const time = made.at(-1)?.time ?? 0;
  const ids = queue.waiting.map(({ id }) => id);
  const { turn } = machine.context;
  await log.append(session, position, [
    ...(ids.length === 0 ? [] : [{ type: "message.withdrawn", time, data: { ids } } as const]),
    { type: "turn.cancel-requested", time, data: { turn, reason: "The run stopped here." } },
  ]);
  const own = agentOf(agent);
  await using runtime = await createRuntime({
    log,
    ...(agent.name === undefined ? { agent: own } : { agents: { [agent.name]: own } }),
    recovery: "stop",
    testing: { clock: () => time },
  });
  await (await runtime.session(session, defined({ agent: agent.name }))).atRest();
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
