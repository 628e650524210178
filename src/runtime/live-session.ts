/**
 * A session that is awake, and how it is woken up: folded from its log, given its agent, its blobs and
 * its chain, and told to go on with what was left. Used by `awake-sessions.ts`, which knows them all.
 */

import type { EventLog, RecoveryPolicy, SessionEvent, TurnlogError } from "../events/index.ts";
import { type PreparedAgent, mediaLimits, type StepSource } from "../agent/index.ts";
import { AddressReader, type OpenedBlobs, SessionBlobs } from "../media/index.ts";
import type { SessionAgent } from "./agent-registry.ts";
import { SnapshotWriter, SessionActor, openChain, Watchers } from "./session/index.ts";
import { foldedStates, isAtRest, loadSessionSnapshot } from "../state/index.ts";
import type { RuntimeSettings } from "./runtime-options.ts";
import { DEFAULT_GRACE_MS, systemTimer } from "../shared/index.ts";

/** Loaded when the first session wakes up: who only reads a store does not load the AI SDK. */
const sources: Readonly<Record<StepSource["name"], () => Promise<StepSource>>> = {
  "language-model-call": async () =>
    (await import("./model/language-model-call.ts")).languageModelCall,
  "stream-text": async () => (await import("./model/stream-text.ts")).streamTextCall,
};

export interface LiveSession {
  readonly actor: SessionActor;
  readonly watchers: Watchers;
  /** What is stored of it beside its log. */
  readonly snapshots: SnapshotWriter;
  /** Set when it has been handed out: until then it is only being woken up. */
  isAwake: boolean;
  sleep: Disposable | undefined;
}

/** What is lent to a session that wakes up. */
export interface ActivationHost {
  readonly options: RuntimeSettings;
  readonly log: EventLog;
  readonly blobs: OpenedBlobs;
  readonly onWarning: (error: TurnlogError) => void;
  /** Who runs it; `goesOn` where it may be called on at once, with the tools that it has then. */
  readonly sessionAgent: (session: string, goesOn: boolean) => Promise<SessionAgent>;
  /** Whether a description says all: what MCP servers offer may not be known yet. */
  readonly isComplete: (agent: PreparedAgent["description"]) => boolean;
  readonly onFailure: (actor: SessionActor) => void;
  /** Told after each event has been recorded and its effects are under way. */
  readonly onRecorded: (live: LiveSession, event: SessionEvent) => void;
}

/** @throws TurnlogError what reading the log throws, `SESSION_FAILED` */
export async function activate(
  session: string,
  host: ActivationHost,
  recovery: RecoveryPolicy = host.options.recovery ?? "stop",
): Promise<LiveSession> {
  const { options, log, onWarning } = host;
  const { stepSource = "language-model-call", graceMs = DEFAULT_GRACE_MS } = options;
  const { maxRecoveries = 3, hashChain = false } = options;
  const { clock = Date.now, random = Math.random, timer = systemTimer } = options;
  const kept = await loadSessionSnapshot(log, session);
  const rest = log.read(session, { from: kept.state.position + 1 });
  const { state, due } = await foldedStates(kept.state, rest);
  // What was left in the middle of a turn may go on with a step.
  const goesOn = !isAtRest(state) && recovery === "continue";
  const { prepared, catalogue } = await host.sessionAgent(session, goesOn);
  const watchers = new Watchers();
  const blobs = new SessionBlobs({
    session,
    ...host.blobs,
    media: mediaLimits(prepared.description.model, prepared.agent.context),
    // A replay asks nobody.
    addresses:
      host.blobs.recorded === undefined
        ? new AddressReader(prepared.agent.model, options.attachments ?? {})
        : undefined,
    model: prepared.description.model,
    known: () => actor.state.blobs,
    onWarning,
  });
  const actor: SessionActor = new SessionActor(
    {
      session,
      log,
      prepared,
      blobs,
      source: await sources[stepSource](),
      catalogue,
      chain: hashChain ? await openChain(log, session, state) : undefined,
      recovery,
      maxRecoveries,
      graceMs,
      clock,
      timer,
      random,
      replayGate: options.replayGate,
      onFailure: (error) => {
        host.onFailure(actor);
        watchers.fail(error);
      },
      onRecorded: (event) => {
        host.onRecorded(live, event);
      },
    },
    state,
  );
  const live: LiveSession = {
    actor,
    watchers,
    snapshots: new SnapshotWriter({ log, actor, kept, due, onWarning }),
    isAwake: false,
    sleep: undefined,
  };
  await introduce(actor, prepared, host);
  if (!isAtRest(actor.state)) await catalogue.ready();
  actor.recover();
  live.isAwake = true;
  return live;
}

/** A new session is told who runs it; an old one only when that has changed. */
async function introduce(
  actor: SessionActor,
  { description: agent }: PreparedAgent,
  { isComplete }: ActivationHost,
): Promise<void> {
  const { position, summary, machine } = actor.state;
  if (position === 0) {
    actor.record({ type: "session.created", data: { agent } });
    await actor.durable();
  } else if (
    isComplete(agent) &&
    summary.agentDigest !== agent.digest &&
    !machine.matches("closed")
  ) {
    actor.record({ type: "session.configured", data: { agent } });
    await actor.durable();
  }
}
