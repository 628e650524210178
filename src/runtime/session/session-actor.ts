/**
 * One live session: its state, and the one door through which everything is recorded. It is the only
 * writer of its events, and has done what they ask for (`session-effects.ts`). Created by the runtime
 * from the log and thrown away at any time; what is not in the log does not exist.
 */

import type { CompactionStrategy, ModelCatalogue } from "../../context/index.ts";
import {
  TurnlogError,
  type EventBody,
  type EventLog,
  type RecoveryPolicy,
  type SessionEvent,
} from "../../events/index.ts";
import type { Effect } from "../../machines/index.ts";
import type { PreparedAgent, StepSource } from "../../agent/index.ts";
import type { SessionBlobs } from "../../media/index.ts";
import { withFullStop, toStoredError, type Timer } from "../../shared/index.ts";
import { assertReadable } from "./readable-event.ts";
import {
  type Ending,
  type ReplayGate,
  inFlight,
  isInTurn,
  type SessionRecorder,
  foldSession,
  type SessionState,
} from "../../state/index.ts";
import type { SessionChain } from "./session-chain.ts";
import { SessionEffects } from "./session-effects.ts";
import type { SessionPrompts } from "../prompt/index.ts";
import { SessionWriter } from "./session-writer.ts";

export interface SessionActorOptions {
  readonly session: string;
  readonly log: EventLog;
  readonly prepared: PreparedAgent;
  readonly source: StepSource;
  readonly catalogue: ModelCatalogue;
  readonly recovery: RecoveryPolicy;
  /** How often one turn may be gone on with after the process died. */
  readonly maxRecoveries: number;
  readonly graceMs: number;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly random: () => number;
  readonly replayGate: ReplayGate | undefined;
  readonly blobs: SessionBlobs;
  /** Where one is kept. */
  readonly chain: SessionChain | undefined;
  /** Told once when the log no longer accepts what happens here. The actor is of no use afterwards. */
  readonly onFailure: (error: TurnlogError) => void;
  /** Told after each event has been recorded and its effects are under way. */
  readonly onRecorded: (event: SessionEvent) => void;
}

export class SessionActor implements SessionRecorder {
  readonly session: string;
  readonly #options: Omit<SessionActorOptions, "prepared">;
  #state: SessionState;
  #failure: TurnlogError | undefined;
  #retired: TurnlogError | undefined;
  readonly #writer: SessionWriter;
  readonly #effects: SessionEffects;
  readonly #due: { readonly effect: Effect; readonly event: SessionEvent }[] = [];
  #isRunning = false;

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
      position: state.position,
      onFailure,
    });
    this.#effects = new SessionEffects(prepared, {
      ...options,
      recorder: this,
      stopped: () => this.refusal("go on", "its turn was stopped"),
      onFailure,
    });
  }

  get state(): SessionState {
    return this.#state;
  }

  /** What lies beside its log. */
  get blobs(): Pick<SessionBlobs, "input" | "assertRoomFor"> {
    return this.#options.blobs;
  }

  get failure(): TurnlogError | undefined {
    return this.#failure;
  }

  /** Why nothing can be recorded here any more: it has failed, or was put away. */
  get ended(): TurnlogError | undefined {
    return this.#failure ?? this.#retired;
  }

  get isIdle(): boolean {
    const { machine } = this.#state;
    return machine.matches({ idle: "waiting" }) || machine.matches("closed");
  }

  /** Whether the log has everything that was recorded. */
  get isWritten(): boolean {
    return this.#writer.isDone;
  }

  /** Resolves when nothing of it can still come into the log, whatever became of it. */
  async settled(): Promise<void> {
    await this.#writer.settled();
  }

  record(body: EventBody): void {
    if (this.ended !== undefined) throw this.ended;
    const { clock, chain } = this.#options;
    const position = this.#state.position + 1;
    // Field by field, as a spread takes twice as long; type and data are of one body, and belong together.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const said = { position, time: clock(), type: body.type, data: body.data } as SessionEvent;
    const event = chain === undefined ? said : chain.linked(said);
    assertReadable(this.session, event);
    // First, as what cannot be folded now could not be when it is read.
    const { state, effects } = foldSession(this.#state, event);
    this.#writer.write(event);
    this.#state = state;
    for (const effect of effects) this.#due.push({ effect, event });
    this.#options.onRecorded(event);
    // What follows from the event comes behind the link.
    if (chain?.take(event) === true) this.#link();
    this.#runEffects();
  }

  /** Has a link of the hash chain cover what none covers yet; answers whether there was anything. */
  closeChain(): boolean {
    // A closed session is covered by its last event.
    if (this.#options.chain?.isOpen !== true) return false;
    this.#link();
    return true;
  }

  /** The digest is known when the link has its place and time. */
  #link(): void {
    this.record({ type: "session.chained", data: { digest: "" } });
  }

  async durable(): Promise<void> {
    try {
      await this.#writer.durable();
    } catch (error) {
      throw this.#failure ?? error;
    }
  }

  pace(): Promise<void> | undefined {
    return this.#writer.pace();
  }

  replayGate(ending: Ending): Promise<void> | undefined {
    return this.#options.replayGate?.(ending);
  }

  /** Has it run by the same agent with other tools of MCP servers: between steps, while it is at rest. */
  adopt(prepared: PreparedAgent): void {
    if (!this.#effects.adopt(prepared)) return;
    const { description: agent } = prepared;
    if (this.#state.summary.agentDigest === agent.digest) return;
    this.record({ type: "session.configured", data: { agent } });
  }

  /** Goes on from a log that another process left behind, or does nothing when it left nothing. */
  recover(): void {
    const { recovery, maxRecoveries } = this.#options;
    const { machine } = this.#state;
    const { recoveries, turn } = machine.context;
    if (isInTurn(machine)) this.#effects.countTurn(turn);
    const unfinished = inFlight(this.#state);
    if (unfinished === undefined) return;
    // A turn that kills its process each time must not be tried for ever.
    const policy = recoveries >= maxRecoveries ? "stop" : recovery;
    this.record({ type: "session.recovered", data: { inFlight: unfinished, policy } });
  }

  /** It is put away, and the log is all that is left of it: whoever still has it is refused, and nothing wakes it up. */
  passivate(why: TurnlogError): void {
    this.#retired = why;
    this.#effects[Symbol.dispose]();
  }

  /** What is known of the session's prompts, and what might be done about them. */
  get prompts(): Pick<SessionPrompts, "figures" | "preview"> {
    return this.#effects.prompts;
  }

  /** Undoes the pruning, the cut, the omission of media or the compaction at a position, or the newest; refused unless the session is idle. */
  restore(asked?: number): void {
    if (!this.isIdle) throw this.refusal("restore", "it is running a turn; cancel it or wait");
    const { compactions, prunings, cuts, omissions } = this.#state.view;
    const kept = cuts.filter(({ undone }) => undone !== true);
    const changes = [...compactions, ...prunings, ...kept, ...omissions];
    const known = changes.map((one) => one.position);
    const position = asked ?? Math.max(0, ...known);
    if (!known.includes(position)) {
      throw this.refusal(
        "restore",
        asked === undefined
          ? "nothing is pruned, cut, left out or compacted"
          : `nothing was pruned, cut, left out or compacted at position ${position}, or it was undone before`,
      );
    }
    this.record({ type: "context.restored", data: { position } });
  }

  /** Begins a compaction; refused unless the session is idle. */
  compact(how?: CompactionStrategy): void {
    if (!this.isIdle) throw this.refusal("compact", "it is running a turn; cancel it or wait");
    this.#effects.prompts.ask(how);
  }

  refusal(command: string, why: string): TurnlogError {
    return new TurnlogError(
      this.#state.machine.matches("closed") ? "SESSION_CLOSED" : "COMMAND_REFUSED",
      `Session ${this.session} cannot ${command}: ${why}.`,
      { session: this.session, position: this.#state.position },
    );
  }

  /** Effects run after the event that asked for them, never inside the recording of another one. */
  #runEffects(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (let next = this.#due.shift(); next !== undefined; next = this.#due.shift()) {
        this.#effects.run(next.effect, next.event);
      }
    } catch (error) {
      // The machine waits for what this one did not come to say.
      this.#fail(error);
      throw this.#failure ?? error;
    } finally {
      this.#isRunning = false;
    }
  }

  /** The log did not take what had happened: this actor's state is ahead of it and must go. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    const { written } = this.#writer;
    this.#failure = new TurnlogError(
      "SESSION_FAILED",
      `Session ${this.session} stopped at position ${written}: ${withFullStop(toStoredError(error).message)} Everything up to there is in the log; open the session again to go on.`,
      { session: this.session, position: written, cause: error },
    );
    this.#effects.abort(this.#failure);
    this.#options.onFailure(this.#failure);
  }
}
