/**
 * One live session: its state, the one door through which everything is recorded, and the effects
 * that the machine asks for. It is the only writer of its events. Created by the runtime from the
 * log and thrown away at any time; what is not in the log does not exist.
 */

import type { ModelMessage } from "ai";
import { estimateSpent, type CompactionStrategy, type ModelCatalogue } from "../context/index.ts";
import {
  TurnlogError,
  type EventBody,
  type EventLog,
  type RecoveryPolicy,
  type SessionEvent,
} from "../events/index.ts";
import type { Effect } from "../machines/index.ts";
import { promptDigest, promptMessages } from "../projections/index.ts";
import { DEFAULT_MAX_STEPS, type PreparedAgent } from "./agent.ts";
import type { SessionBlobs } from "./blobs/session-blobs.ts";
import type { EstimatedPrompt } from "./context-figures.ts";
import { runModelStep } from "./model-step.ts";
import { withExpansion } from "./blobs/opened-blobs.ts";
import { inFlight, isInTurn, settlement } from "./recovery.ts";
import type { SessionChain } from "./session-chain.ts";
import type { SessionDoor } from "./session-door.ts";
import { SessionPrompts } from "./session-prompts.ts";
import { foldSession, type SessionState } from "./session-state.ts";
import { SessionWriter } from "./session-writer.ts";
import type { StepSource } from "./step-source.ts";
import { waited, type Timer } from "./timer.ts";
import { ToolRunner } from "./tool-runner.ts";
import { repetition, TurnClock } from "./turn-limits.ts";

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
  readonly blobs: SessionBlobs;
  /** Where one is kept. */
  readonly chain: SessionChain | undefined;
  /** Told once when the log no longer accepts what happens here. The actor is of no use afterwards. */
  readonly onFailure: (error: TurnlogError) => void;
  /** Told after each event has been recorded and its effects are under way. */
  readonly onRecorded: (event: SessionEvent) => void;
}

export class SessionActor implements SessionDoor, Disposable {
  readonly session: string;
  readonly #options: SessionActorOptions;
  /** Who runs it: as it was given, until it is told otherwise. */
  #given: PreparedAgent;
  /** The same, whose prompts are counted as they are sent. */
  #prepared: PreparedAgent;
  #state: SessionState;
  #failure: TurnlogError | undefined;
  readonly #writer: SessionWriter;
  readonly #effects: { readonly effect: Effect; readonly event: SessionEvent }[] = [];
  #interpreting = false;
  /** Stops what runs for the current step: the model call, the back-off, the tools. */
  #stop = new AbortController();
  #messages: readonly ModelMessage[] = [];
  #inputs = new Map<string, unknown>();
  #tools: ToolRunner | undefined;
  readonly #clock: TurnClock;
  #prompts: SessionPrompts;

  constructor(options: SessionActorOptions, state: SessionState) {
    this.session = options.session;
    this.#options = options;
    this.#state = state;
    this.#writer = new SessionWriter({
      session: options.session,
      log: options.log,
      position: state.position,
      onFailure: (error) => {
        this.#fail(error);
      },
    });
    const { prepared, timer } = options;
    this.#given = prepared;
    this.#prepared = withExpansion(prepared, options.blobs);
    this.#clock = new TurnClock(this, prepared.agent, timer);
    this.#prompts = this.#promptsOf(this.#prepared);
  }

  #promptsOf(prepared: PreparedAgent): SessionPrompts {
    const { catalogue, source, clock, timer, random } = this.#options;
    return new SessionPrompts(
      { door: this, source, clock, timer, random },
      { prepared, catalogue },
    );
  }

  get state(): SessionState {
    return this.#state;
  }

  /** What lies beside its log. */
  get blobs(): Pick<SessionBlobs, "input"> {
    return this.#options.blobs;
  }

  get failure(): TurnlogError | undefined {
    return this.#failure;
  }

  get isIdle(): boolean {
    const { machine } = this.#state;
    return machine.matches({ idle: "waiting" }) || machine.matches("closed");
  }

  /** Whether the log has everything that was recorded. */
  get isWritten(): boolean {
    return this.#writer.isDone;
  }

  record(body: EventBody): void {
    if (this.#failure !== undefined) throw this.#failure;
    const { clock, chain } = this.#options;
    const seq = this.#state.position + 1;
    // Field by field, as a spread takes twice as long; type and data are of one body, and belong together.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const said = { seq, at: clock(), type: body.type, data: body.data } as SessionEvent;
    const event = chain === undefined ? said : chain.linked(said);
    this.#writer.write(event);
    const { state, effects } = foldSession(this.#state, event);
    this.#state = state;
    for (const effect of effects) this.#effects.push({ effect, event });
    this.#options.onRecorded(event);
    // What follows from the event comes behind the link.
    if (chain?.take(event) === true) this.#link();
    this.#interpretAll();
  }

  /** Has a link of the hash chain cover what none covers yet; answers whether there was anything. */
  closeChain(): boolean {
    const isOpen = this.#options.chain?.isOpen === true;
    if (!isOpen || this.#state.machine.matches("closed")) return false;
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

  /** Has it run by the same agent with other tools of MCP servers: between steps, while it is at rest. */
  adopt(prepared: PreparedAgent): void {
    if (prepared === this.#given) return;
    this.#given = prepared;
    this.#prepared = withExpansion(prepared, this.#options.blobs);
    this.#prompts = this.#promptsOf(this.#prepared);
    const { description: agent } = prepared;
    if (this.#state.summary.agentDigest === agent.digest) return;
    this.record({ type: "session.configured", data: { agent } });
  }

  /** Goes on from a log that another process left behind, or does nothing when it left nothing. */
  recover(): void {
    const { recovery, maxRecoveries } = this.#options;
    const { machine } = this.#state;
    const { recoveries, turn } = machine.context;
    if (isInTurn(machine)) this.#clock.begin(turn);
    const unfinished = inFlight(this.#state);
    if (unfinished === undefined) return;
    // A turn that kills its process each time must not be tried for ever.
    const policy = recoveries >= maxRecoveries ? "stop" : recovery;
    this.record({ type: "session.recovered", data: { inFlight: unfinished, policy } });
  }

  /** Lets go of what would wake it up: it is put away, and the log is all that is left of it. */
  [Symbol.dispose](): void {
    this.#clock[Symbol.dispose]();
  }

  /** What is known of the session's prompts, and what might be done about them. */
  get prompts(): Pick<SessionPrompts, "figures" | "preview"> {
    return this.#prompts;
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
    this.#prompts.ask(how);
  }

  refusal(command: string, why: string): TurnlogError {
    return new TurnlogError(
      this.#state.machine.matches("closed") ? "SESSION_CLOSED" : "COMMAND_REFUSED",
      `Session ${this.session} cannot ${command}: ${why}.`,
      { session: this.session, position: this.#state.position },
    );
  }

  /** Effects run after the event that asked for them, never inside the recording of another one. */
  #interpretAll(): void {
    if (this.#interpreting) return;
    this.#interpreting = true;
    try {
      for (let next = this.#effects.shift(); next !== undefined; next = this.#effects.shift()) {
        this.#interpret(next.effect, next.event);
      }
    } finally {
      this.#interpreting = false;
    }
  }

  #interpret(effect: Effect, event: SessionEvent): void {
    switch (effect.type) {
      case "startTurn":
        return this.#startTurn();
      case "startStep":
        return this.#startStep();
      case "callModel":
        return this.#background(() => this.#callModel());
      case "backOff":
        return this.#background(() => this.#backOff(event));
      case "runTools":
        return this.#runTools();
      case "compact":
        return this.#background(() => this.#compact());
      case "makeRoom":
        return this.#makeRoom();
      case "abort":
        return this.#stop.abort(this.refusal("go on", "its turn was stopped"));
      case "settle":
        for (const body of settlement(this.#state, this.#prepared.agent)) this.record(body);
        return;
      case "endTurn":
        return this.#endTurn(effect.params);
    }
  }

  #startTurn(): void {
    const { turn } = this.#state.machine.context;
    const maxSteps = this.#prepared.agent.maxSteps ?? DEFAULT_MAX_STEPS;
    this.#clock.begin(turn + 1);
    this.record({ type: "turn.started", data: { turn: turn + 1, maxSteps } });
  }

  #startStep(): void {
    const { turn, step, stepsInTurn } = this.#state.machine.context;
    const repeating = repetition(this.#state, this.#prepared.agent);
    if (repeating !== undefined) return this.record(repeating);
    const due = this.#state.queue.waiting.filter(
      (message) => stepsInTurn === 0 || message.delivery === "steer",
    );
    if (due.length > 0) {
      const ids = due.map((message) => message.id);
      this.record({
        type: "message.delivered",
        data: { ids, turn, boundary: stepsInTurn === 0 ? "turn" : "step" },
      });
    }
    const next = this.#prompts.beforeStep();
    if (next !== undefined) this.#beginAttempt(step + 1, 1, next);
  }

  #beginAttempt(
    step: number,
    attempt: number,
    { messages, estimate }: EstimatedPrompt = this.#prompts.next(),
  ): void {
    const { description } = this.#prepared;
    const { turn } = this.#state.machine.context;
    this.#stop = new AbortController();
    this.#tools = undefined;
    this.#inputs = new Map();
    this.#messages = messages;
    this.record({
      type: "step.started",
      data: {
        turn,
        step,
        attempt,
        model: description.model,
        promptDigest: promptDigest(description.digest, messages),
        estimate: estimate.recorded,
      },
    });
  }

  async #callModel(): Promise<void> {
    const { source, blobs, clock, timer, random } = this.#options;
    const inputs = this.#inputs;
    await runModelStep({
      door: this,
      source,
      agent: this.#prepared.agent,
      blobs,
      messages: this.#messages,
      signal: this.#stop.signal,
      onInput: (callId, input) => inputs.set(callId, input),
      clock,
      timer,
      random,
    });
  }

  async #backOff(event: SessionEvent): Promise<void> {
    if (event.type !== "step.retrying") return;
    const { step, attempt, delayMs } = event.data;
    const { signal } = this.#stop;
    const { timer } = this.#options;
    if (await waited(timer, delayMs, { kind: "retry" }, signal))
      return this.#beginAttempt(step, attempt + 1);
    const usage = estimateSpent(this.#state.usage, this.#state.history);
    this.record({ type: "step.interrupted", data: { step, reason: "cancelled", usage } });
  }

  #runTools(): void {
    const { blobs, graceMs, timer } = this.#options;
    if (this.#messages.length === 0) {
      // After a restart: what the calls answered is read from the history again.
      const { open: _, ...before } = this.#state.history;
      this.#messages = promptMessages(before, this.#state.view);
    }
    this.#tools ??= new ToolRunner({
      door: this,
      agent: this.#prompts.equipped(),
      blobs,
      signal: this.#stop.signal,
      graceMs,
      timer,
      messages: this.#messages,
      inputs: this.#inputs,
      onFailure: (error) => {
        this.#fail(error);
      },
    });
    this.#tools.run();
  }

  async #compact(): Promise<void> {
    this.#stop = new AbortController();
    await this.#prompts.compact(this.#stop.signal);
  }

  #makeRoom(): void {
    const { step, attempt } = this.#state.machine.context;
    if (this.#prompts.retries()) this.#beginAttempt(step, attempt + 1);
  }

  #endTurn({ reason }: { readonly reason: EventBody<"turn.ended">["data"]["reason"] }): void {
    this.#clock[Symbol.dispose]();
    const { turn } = this.#state.machine.context;
    const error = this.#state.history.open?.error;
    this.record({
      type: "turn.ended",
      data: { turn, reason, ...(reason === "failed" && error !== undefined ? { error } : {}) },
    });
  }

  #background(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#fail(error);
    });
  }

  /** The log did not take what had happened: this actor's state is ahead of it and must go. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    const { written } = this.#writer;
    this.#failure = new TurnlogError(
      "SESSION_FAILED",
      `Session ${this.session} stopped at position ${written}: ${error instanceof Error ? error.message : String(error)} Everything up to there is in the log; open the session again to go on.`,
      { session: this.session, position: written, cause: error },
    );
    this.#clock[Symbol.dispose]();
    this.#stop.abort(this.#failure);
    this.#options.onFailure(this.#failure);
  }
}
