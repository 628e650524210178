/** The beginning of a live session: folds its log, creates its actor, recovers an unfinished turn. */

import {
  elsewhere,
  type Claim,
  type EventLog,
  type JsonObject,
  type ParentCall,
  type RecoveryPolicy,
  type SessionEvent,
  TurnlogError,
} from "../../events/index.ts";
import { type PreparedAgent, mediaLimits, type StepSource } from "../../agent/index.ts";
import { AddressReader, type OpenedBlobs, SessionBlobs } from "../../media/index.ts";
import { endAbandoned, isAbandoned, runningChildren } from "./sub-agents.ts";
import { type Background, DEFAULT_GRACE_MS, systemTimer } from "../../shared/index.ts";
import { giveBack, claimOf } from "./claims.ts";
import type { AgentNames, SessionAgent } from "./agent-registry.ts";
import type { Circuits, LimitReached } from "../model/failover.ts";
import type { SpendingLedger } from "../figures/spending-ledger.ts";
import type { HeldValues } from "../session/running-turn.ts";
import { SnapshotWriter } from "../session/snapshot-writer.ts";
import { SessionActor } from "../session/actor.ts";
import { openChain } from "../session/writer.ts";
import { Watchers } from "../session/watchers.ts";
import { foldedStates, calledTools, isAtRest, loadSessionSnapshot } from "../../state/index.ts";
import { reopened } from "../api/runtime.ts";
import type { Delegate } from "../tools/tool-execution.ts";
import type { RuntimeSettings, SessionIdentity } from "../api/runtime-options.ts";

/** Loaded at the first activation: a program that only reads a store does not load the AI SDK. */
const sources: Readonly<Record<StepSource["name"], () => Promise<StepSource>>> = {
  "language-model-call": async () =>
    (await import("../model/language-model-call.ts")).languageModelCall,
  "stream-text": async () => (await import("../model/stream-text.ts")).streamTextCall,
};

export interface LiveSession {
  readonly actor: SessionActor;
  /** The right of this process to run the session. */
  readonly claim: Claim;
  readonly agent: SessionAgent;
  readonly watchers: Watchers;
  readonly snapshots: SnapshotWriter;
  /** False until the activation is complete. */
  isActive: boolean;
  idleTimer?: Disposable | undefined;
}

export interface ActivationHost {
  readonly options: RuntimeSettings;
  readonly log: EventLog;
  readonly blobs: OpenedBlobs;
  readonly held: HeldValues;
  readonly onWarning: (error: TurnlogError) => void;
  readonly background: Background;
  /** Runs calls of sub-agents. */
  readonly delegate: Delegate;
  /** The agent of the session. If its turn continues now, with the tools of MCP servers: `called` names its open calls. */
  readonly sessionAgent: (
    session: SessionIdentity,
    names: AgentNames,
    parent: ParentCall | undefined,
    called: readonly string[] | undefined,
  ) => Promise<SessionAgent>;
  /** Whether a description includes the tools of all MCP servers. */
  readonly isComplete: (agent: PreparedAgent["description"]) => boolean;
  /** Undefined without limits of spending. */
  readonly ledger: SpendingLedger | undefined;
  readonly circuits: Circuits | undefined;
  readonly onFailure: (actor: SessionActor, claim: Claim) => void;
  /** Called with the sessions of sub-agents whose calls a recovery has ended. */
  readonly onAbandoned: (actor: SessionActor, children: readonly string[]) => void;
  /** Called after each recorded event, once its effects have begun. */
  readonly onRecorded: (live: LiveSession, event: SessionEvent) => void;
}

/** How a session is activated. */
export interface Opening {
  /** Replaces the runtime's policy for an unfinished turn. */
  readonly recovery?: RecoveryPolicy | undefined;
  /** The name of the agent of a session whose log names none that the runtime has. */
  readonly agent?: string | undefined;
  /** The metadata of a new session. */
  readonly metadata?: JsonObject | undefined;
  /** The call that creates the session. */
  readonly parent?: ParentCall | undefined;
}

/** @throws TurnlogError `SESSION_ELSEWHERE`, what reading the log throws, `SESSION_FAILED` */
export async function activate(
  session: string,
  host: ActivationHost,
  opening: Opening = {},
): Promise<LiveSession> {
  const claim = await claimOf(host.log, session);
  // An actor that fails gives its claim back: that is no loss.
  let wasHeld: boolean | undefined;
  const onFailure: ActivationHost["onFailure"] = (...failed) => {
    wasHeld ??= isHeld(claim);
    host.onFailure(...failed);
  };
  try {
    return await activateClaimed(session, { ...host, onFailure }, opening, claim);
  } catch (error) {
    const isLost = !(wasHeld ?? isHeld(claim));
    // Another process may have the agent, or the key.
    await giveBack(session, claim, host.background, true);
    // What was read may be of the process that has the session since.
    if (isLost) throw elsewhere(session, true, error);
    throw host.log.inbox !== undefined && needsOtherRelease(error)
      ? elsewhere(session, false, error)
      : error;
  }
}

/** While a new release is rolled out, only its processes have its agents and can read its events. */
function needsOtherRelease(error: unknown): boolean {
  return (
    TurnlogError.isInstance(error) &&
    (error.code === "AGENT_MISSING" || error.code === "EVENT_TOO_NEW")
  );
}

function isHeld(claim: Claim): boolean {
  try {
    claim.assertHeld();
    return !claim.lost.aborted;
  } catch {
    return false;
  }
}

async function activateClaimed(
  session: string,
  host: ActivationHost,
  opening: Opening,
  claim: Claim,
): Promise<LiveSession> {
  const { agent: asked } = opening;
  const { options, log, ledger, onWarning } = host;
  const { stepSource = "language-model-call", graceMs = DEFAULT_GRACE_MS } = options;
  const { maxRecoveries = 3, hashChain = false, recording = {} } = options;
  const { clock = Date.now, random = Math.random, timer = systemTimer } = options;
  const kept = await loadSessionSnapshot(log, session);
  const rest = log.read(session, { from: kept.state.position + 1 });
  const { state, due } = await foldedStates(kept.state, rest);
  // A process that slept may have read what another one wrote, and the log would refuse what builds on it.
  claim.assertHeld();
  // A call that opens the session waits for its turn.
  const isLeft = opening.parent === undefined && (await isAbandoned(log, session, state));
  const recovery = isLeft ? "stop" : (opening.recovery ?? options.recovery ?? "stop");
  // An unfinished turn may begin its next step at once.
  const continues = !isAtRest(state) && recovery === "continue";
  const names = { recorded: state.summary.agent, asked };
  const { summary } = state;
  const parent = state.position === 0 ? (opening.parent ?? recording.parent) : summary.parent;
  const agent = await host.sessionAgent(
    { id: session, metadata: summary.metadata ?? opening.metadata ?? {} },
    names,
    parent ?? summary.agentFrom,
    continues ? calledTools(state) : undefined,
  );
  await ledger?.load(session, parent);
  const { prepared, catalogue } = agent;
  const watchers = new Watchers();
  const blobs = new SessionBlobs({
    session,
    ...host.blobs,
    media: mediaLimits(prepared.description.model, prepared.agent.context),
    // A replay fetches nothing.
    addresses:
      host.blobs.recorded === undefined
        ? new AddressReader(prepared.agent.model, options.attachments ?? {})
        : undefined,
    model: prepared.description.model,
    known: () => actor.state.blobs,
    onWarning,
  });
  const source = await sources[stepSource]();
  const actor = new SessionActor(
    {
      session,
      log,
      claim,
      prepared,
      blobs,
      source: recording.around?.(source) ?? source,
      catalogue,
      chain: hashChain ? await openChain(log, session, state) : undefined,
      recovery,
      maxRecoveries,
      held: host.held,
      contextFor: options.contextFor,
      delegate: host.delegate,
      graceMs,
      clock,
      timer,
      random,
      recording,
      limitReached: limitReached(agent, host),
      circuits: host.circuits,
      readSpending: () => readSpending(actor, host),
      onFailure: (error) => {
        host.onFailure(actor, claim);
        watchers.fail(error);
      },
      onRecorded: (event) => host.onRecorded(live, event),
    },
    state,
  );
  const live: LiveSession = {
    actor,
    claim,
    agent,
    watchers,
    snapshots: new SnapshotWriter({
      log,
      actor,
      kept,
      due,
      onWarning,
    }),
    isActive: false,
  };
  actor.watchClaim();
  try {
    await recordAgent(actor, prepared, opening, host);
    if (!isAtRest(actor.state)) await catalogue.ready();
    actor.recover();
  } catch (error) {
    actor.passivate(reopened(session));
    throw error;
  }
  if (isLeft) endAbandoned(actor);
  const left = runningChildren(state).filter(
    (child) => !runningChildren(actor.state).includes(child),
  );
  if (left.length > 0) host.onAbandoned(actor, left);
  live.isActive = true;
  return live;
}

/** A replay repeats the recorded ends, whatever limits it has. */
function limitReached(
  agent: SessionAgent,
  { ledger, options: { recording = {} } }: ActivationHost,
): LimitReached | undefined {
  const { limit } = recording;
  if (limit !== undefined) return ({ state }) => limit(state.position);
  if (ledger === undefined) return undefined;
  return (recorder, model, promptTokens) =>
    ledger.limitReached(recorder, { model, promptTokens }, agent.prices);
}

/** What other sessions have spent, if a limit counts them. Undefined: none does. */
function readSpending(
  actor: SessionActor,
  { ledger, onWarning, options: { recording } }: ActivationHost,
): Promise<void> | undefined {
  if (recording?.limit !== undefined || ledger?.readsOthers !== true) return undefined;
  // The session's own calls are read from the log too.
  return actor
    .durable()
    .then(() => ledger.read())
    .catch((cause: unknown) => {
      if (actor.failure !== undefined) return;
      const what = `What other sessions have spent could not be read: the limits of session ${actor.session} count what was known before.`;
      onWarning(new TurnlogError("LOG_FAILED", what, { session: actor.session, cause }));
    });
}

/** Records the agent: of a new session always, of an old one only if the agent or its name has changed. */
async function recordAgent(
  actor: SessionActor,
  { description: agent }: PreparedAgent,
  { metadata, parent }: Opening,
  { isComplete, options }: ActivationHost,
): Promise<void> {
  const { position, summary, machine } = actor.state;
  if (position === 0) {
    const noted = metadata === undefined ? {} : { metadata };
    const by = parent ?? options.recording?.parent;
    const called = by === undefined ? {} : { parent: by };
    actor.record({ type: "session.created", data: { agent, ...noted, ...called } });
    await actor.durable();
    return;
  }
  const isRenamed = agent.name !== undefined && agent.name !== summary.agent;
  const isOther = isComplete(agent) && summary.agentDigest !== agent.digest;
  if ((isRenamed || isOther) && !machine.matches("closed")) {
    actor.record({ type: "session.configured", data: { agent } });
    await actor.durable();
  }
}
