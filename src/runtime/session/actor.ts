/**
 * A live session: its state, and `record`, the only function that adds an event to it. Then it runs the
 * effects that the machine asks for. The runtime may discard an actor at any time: what is not in the log
 * does not exist.
 */

import type { ModelCatalogue } from "../../context/index.ts";
import {
  elsewhere,
  isElsewhere,
  TurnlogError,
  type Claim,
  type EventBody,
  type EventLog,
  type RecoveryPolicy,
  type SessionEvent,
  eventSchemas,
  isAppType,
} from "../../events/index.ts";
import type { Effect } from "../../machines/index.ts";
import type { Agent, PreparedAgent, StepSource } from "../../agent/index.ts";
import type { SessionBlobs } from "../../media/index.ts";
import { onAbort, withFullStop, toStoredError, type Timer, toJson } from "../../shared/index.ts";
import {
  inFlight,
  isIdle,
  isInTurn,
  type SessionRecorder,
  foldSession,
  type SessionState,
} from "../../state/index.ts";
import { type SessionChain, SessionWriter } from "./writer.ts";
import type { FailoverOptions, LimitReached } from "../model/failover.ts";
import { SessionEffects } from "./effects.ts";
import type { Recording } from "../model/recording.ts";
import type { SessionPrompts } from "../prompt/prompts.ts";
import type { ContextFor, RunningTurn, HeldValues } from "./running-turn.ts";
import type { Delegate } from "../tools/tool-execution.ts";
import { z } from "zod";

export interface SessionActorOptions {
  readonly session: string;
  readonly log: EventLog;
  /** This process runs the session under it. */
  readonly claim: Claim;
  readonly prepared: PreparedAgent;
  readonly source: StepSource;
  readonly catalogue: ModelCatalogue;
  readonly recovery: RecoveryPolicy;
  /** How often a turn may continue after its process died. */
  readonly maxRecoveries: number;
  /** Runs calls of sub-agents. */
  readonly delegate: Delegate;
  readonly graceMs: number;
  readonly held: HeldValues;
  readonly contextFor: ContextFor | undefined;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly random: () => number;
  readonly recording: Recording;
  /** The event that ends or holds the turn if its next call would pass a limit of spending. */
  readonly limitReached: LimitReached | undefined;
  readonly circuits: FailoverOptions["circuits"];
  readonly readSpending: () => Promise<void> | undefined;
  readonly blobs: SessionBlobs;
  readonly chain: SessionChain | undefined;
  /** Called once when the log refuses an event. The actor cannot be used afterwards. */
  readonly onFailure: (error: TurnlogError) => void;
  /** Called after each recorded event, once its effects have begun. */
  readonly onRecorded: (event: SessionEvent) => void;
}

export class SessionActor implements SessionRecorder {
  readonly session: string;
  readonly #options: Omit<SessionActorOptions, "prepared">;
  #state: SessionState;
  #failure: TurnlogError | undefined;
  #passivated: TurnlogError | undefined;
  readonly #writer: SessionWriter;
  readonly #effects: SessionEffects;
  readonly #due: { readonly effect: Effect; readonly event: SessionEvent }[] = [];
  #isRunning = false;
  #claimWatch: Disposable | undefined;

  constructor({ prepared, ...options }: SessionActorOptions, state: SessionState) {
    this.session = options.session;
    this.#options = options;
    this.#state = state;
    const onFailure = (error: unknown): void => {
      this.#fail(error);
    };
    this.#writer = new SessionWriter({
      session: options.session,
      log: options.log,
      epoch: options.claim.epoch,
      position: state.position,
      onFailure,
    });
    this.#effects = new SessionEffects(prepared, {
      ...options,
      recorder: this,
      onFailure,
    });
  }

  get state(): SessionState {
    return this.#state;
  }

  get blobs(): Pick<SessionBlobs, "input" | "answer" | "assertWithinQuota"> {
    return this.#options.blobs;
  }

  get failure(): TurnlogError | undefined {
    return this.#failure;
  }

  /** Why the actor records nothing any more: it failed or was passivated. */
  get ended(): TurnlogError | undefined {
    return this.#failure ?? this.#passivated;
  }

  get isIdle(): boolean {
    return isIdle(this.#state);
  }

  /** Whether the log has all recorded events. */
  get isWritten(): boolean {
    return this.#writer.isDone;
  }

  /** Resolves when no append of this actor is on its way to the log. */
  async settled(): Promise<void> {
    await this.#writer.settled();
  }

  get callbacks(): Promise<void> {
    return this.#effects.callbacks;
  }

  /** @param id - Of an event of the user's program, or of the last event of a command. */
  record(body: EventBody, id?: string): void {
    if (this.ended !== undefined) throw this.ended;
    const { clock, chain } = this.#options;
    const position = this.#state.position + 1;
    // Field by field: a spread takes twice as long. Type and data come from one body.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const unlinked = { position, time: clock(), type: body.type, data: body.data } as SessionEvent;
    if (id !== undefined) Object.assign(unlinked, { id });
    const event = chain === undefined ? unlinked : chain.linked(unlinked);
    assertReadable(this.session, event);
    // Folded before it is written: an event that cannot be folded must not reach the log.
    const { state, effects } = foldSession(this.#state, event);
    this.#writer.write(event);
    this.#state = state;
    for (const effect of effects) this.#due.push({ effect, event });
    this.#effects.observe(event);
    this.#options.onRecorded(event);
    // The link precedes all events that effects record.
    if (chain?.take(event) === true) this.#link();
    this.#runEffects();
  }

  /** Records a link for the events that no link covers. Returns false if there are none. */
  closeChain(): boolean {
    // The last event of a closed session is its link.
    if (this.#options.chain?.isOpen !== true) return false;
    this.#link();
    return true;
  }

  /** The chain computes the digest from the link's own position and time. */
  #link(): void {
    this.record({ type: "session.chained", data: { digest: "" } });
  }

  async durable(): Promise<void> {
    try {
      await this.#writer.durable();
      // The caller may act in the world next, which it must not do if another process has taken the session.
      this.#options.claim.assertHeld();
    } catch (error) {
      throw this.#failure ?? error;
    }
  }

  pace(): Promise<void> | undefined {
    return this.#writer.pace();
  }

  outlast(value: unknown): Promise<void> | undefined {
    const { claim } = this.#options;
    if (claim.prolong === undefined) return undefined;
    const ms = longestWork(value);
    return ms < SHORT_WORK_MS ? undefined : claim.prolong(ms);
  }

  believesBill(): boolean {
    return this.#options.recording.believesBill?.() ?? false;
  }

  get agent(): Agent {
    return this.#effects.turn.agent;
  }

  /** Changes the tools of MCP servers. Called only while the session is at rest. */
  adopt(prepared: PreparedAgent): void {
    if (!this.#effects.adopt(prepared)) return;
    const { description: agent } = prepared;
    if (this.#state.summary.agentDigest === agent.digest) return;
    this.record({ type: "session.configured", data: { agent } });
  }

  /** Recovers an unfinished turn of a process that died. Does nothing if none is unfinished. */
  recover(): void {
    const { recovery, maxRecoveries } = this.#options;
    const { machine } = this.#state;
    const { recoveries, turn } = machine.context;
    if (isInTurn(machine)) this.#effects.countTurn(turn);
    const unfinished = inFlight(this.#state);
    if (unfinished === undefined) return;
    // A turn that kills its process each time must not continue forever.
    const policy = recoveries >= maxRecoveries ? "stop" : recovery;
    this.record({ type: "session.recovered", data: { inFlight: unfinished, policy } });
  }

  /** Ends this actor when its claim is lost. The claim may outlive it, and then keeps nothing of it. */
  watchClaim(): void {
    const { lost } = this.#options.claim;
    this.#claimWatch = onAbort(lost, () => this.lose(lost.reason));
  }

  /** Passivates this actor. Later calls to `record` throw `why`. */
  passivate(why: TurnlogError): void {
    this.#passivated = why;
    this.#claimWatch?.[Symbol.dispose]();
    this.#effects[Symbol.dispose]();
  }

  /** Ends this actor: another process runs the session now. */
  lose(why: unknown): void {
    if (this.#passivated === undefined) this.#fail(why);
  }

  get prompts(): Pick<SessionPrompts, "costOf" | "known" | "figures" | "preview" | "request"> {
    return this.#effects.prompts;
  }

  get turn(): Pick<RunningTurn, "assertValid" | "hold" | "holdAgain"> {
    return this.#effects.turn;
  }

  /** Runs effects after the event that requested them, never inside `record` of another event. */
  #runEffects(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (let next = this.#due.shift(); next !== undefined; next = this.#due.shift()) {
        this.#effects.run(next.effect, next.event);
      }
    } catch (error) {
      // The machine waits for an event that this effect did not record.
      this.#fail(error);
      throw this.#failure ?? error;
    } finally {
      this.#isRunning = false;
    }
  }

  #failureOf(error: unknown): TurnlogError {
    const { session } = this;
    if (isElsewhere(error)) return elsewhere(session, true, error);
    if (TurnlogError.isInstance(error) && error.code === "RUNTIME_CLOSED") return error;
    const { written } = this.#writer;
    return new TurnlogError(
      "SESSION_FAILED",
      `Session ${session} stopped at position ${written}: ${withFullStop(toStoredError(error).message)} Everything up to there is in the log; open the session again to continue.`,
      { session, position: written, cause: error },
    );
  }

  /** The state of this actor is ahead of the log, so the actor ends. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = this.#failureOf(error);
    this.#claimWatch?.[Symbol.dispose]();
    this.#effects.abort(this.#failure);
    this.#options.onFailure(this.#failure);
  }
}

// How long a value may hold the event loop while it is recorded: it is copied, frozen, folded, measured and encoded in one go.

/** Less is not worth a renewal of the lease. */
const SHORT_WORK_MS = 100;
/** How long others wait for the sessions of a process that dies while it works on a value. */
const MOST_MS = 60_000;
/** On a machine that has a tenth of its time for this process. */
const MS_PER_VALUE = 0.01;
const MS_PER_CHARACTER = 0.0001;

/** In milliseconds, on a busy machine. */
function longestWork(value: unknown): number {
  let ms = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && ms < MOST_MS) {
    const next = rest.pop();
    ms += MS_PER_VALUE;
    if (typeof next === "string") ms += next.length * MS_PER_CHARACTER;
    if (typeof next !== "object" || next === null) continue;
    for (const inner of Object.values<unknown>({ ...next })) rest.push(inner);
  }
  return Math.min(ms, MOST_MS);
}

// Checks that the log can read each event, before it is recorded. Deltas, most of all events, take a short path.

/** Compiling a schema is for a type that keeps coming; most come once or twice before the first call. */
const COMPILED_AFTER = 20;
const checks = new Map<string, number>();

/** @throws TurnlogError `EVENT_INVALID` if the event could not be read again */
function assertReadable(session: string, { position, type, data }: SessionEvent): void {
  switch (type) {
    case "unknown":
      return;
    case "part.text-delta":
    case "part.reasoning-delta":
      if (typeof data.id === "string" && typeof data.text === "string") return;
      break;
    case "part.tool-input-delta":
      if (typeof data.id === "string" && typeof data.delta === "string") return;
      break;
    default:
  }
  // `append` has checked it.
  if (isAppType(type)) return;
  const schema: z.ZodType = eventSchemas[type];
  const before = checks.get(type) ?? 0;
  checks.set(type, before + 1);
  if (schema.safeParse(data, { jitless: before < COMPILED_AFTER }).success) return;
  // JSON drops undefined fields.
  const stored = schema.safeParse(toJson(data), { jitless: true });
  if (stored.success) return;
  throw new TurnlogError(
    "EVENT_INVALID",
    `An event of type ${type} was not recorded in session ${session}, since it could not be read again: ${z.prettifyError(stored.error)}`,
    { session, position, cause: stored.error },
  );
}
