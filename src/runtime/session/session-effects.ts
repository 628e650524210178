/**
 * Runs the effects that the machine asks for: begins turns and steps, calls the model and the tools,
 * frees context. Fields hold data of the current step only; after a restart the history has it.
 */

import type { ModelMessage } from "ai";
import type { ModelCatalogue } from "../../context/index.ts";
import type { EventBody, SessionEvent, StoredError } from "../../events/index.ts";
import type { Effect } from "../../machines/index.ts";
import { promptDigest, promptMessages } from "../../projections/index.ts";
import {
  type Agent,
  type PreparedAgent,
  type StepSource,
  contextOf,
  isCallbackFailure,
  stepLimit,
} from "../../agent/index.ts";
import { withExpansion, type SessionBlobs } from "../../media/index.ts";
import { type EstimatedPrompt, SessionPrompts } from "../prompt/index.ts";
import { runModelStep } from "../model/index.ts";
import { type ReplayGate, settlement } from "../../state/index.ts";
import { waited, type Timer, toStoredError } from "../../shared/index.ts";
import { ToolRunner } from "../tools/index.ts";
import { TurnLifecycle } from "../lifecycle/index.ts";
import { refusal } from "./commands.ts";
import { RunningTurn, type RunningTurnOptions } from "./running-turn.ts";
import { stepCancelled, stepFailed } from "./step-ends.ts";
import { StepBoundary, type StepBoundaryOptions } from "./step-boundary.ts";
import { endTurn } from "./turn-end.ts";
import { repetition, TurnClock } from "./turn-limits.ts";

export interface SessionEffectsOptions
  extends Omit<RunningTurnOptions, "agent">, Pick<StepBoundaryOptions, "recordedPreparation"> {
  readonly source: StepSource;
  readonly catalogue: ModelCatalogue;
  readonly blobs: SessionBlobs;
  readonly graceMs: number;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly random: () => number;
  /** Given in a replay, which calls no callbacks. */
  readonly replayGate: ReplayGate | undefined;
  /** Called with an error that can no longer be recorded as an event. */
  readonly onFailure: (error: unknown) => void;
}

export class SessionEffects implements Disposable {
  readonly #options: SessionEffectsOptions;
  #given: PreparedAgent;
  /** The same agent, whose estimator expands blobs as a request does. */
  #prepared: PreparedAgent;
  /** The agent of the step, as `prepareStep` changed it. */
  #step: PreparedAgent;
  #prompts: SessionPrompts;
  readonly turn: RunningTurn;
  readonly #boundary: StepBoundary;
  /** Undefined in a replay. */
  readonly #lifecycle: TurnLifecycle | undefined;
  readonly #clock: TurnClock;
  /** Stops what runs for the current step: the model call, the back-off, the tools. */
  #stop = new AbortController();
  #messages: readonly ModelMessage[] = [];
  #inputs = new Map<string, unknown>();
  #tools: ToolRunner | undefined;
  /** Fails the step that begins next before its model is called. */
  #fault: StoredError | undefined;

  constructor(prepared: PreparedAgent, options: SessionEffectsOptions) {
    this.#options = options;
    this.#given = prepared;
    this.#prepared = withExpansion(prepared, options.blobs);
    const agent = (): Agent => this.#prepared.agent;
    this.turn = new RunningTurn({ ...options, agent });
    this.#boundary = new StepBoundary({
      ...options,
      turn: this.turn,
      prepared: () => this.#prepared,
      callbacks: () => this.callbacks,
    });
    this.#step = this.#prepared;
    if (options.replayGate === undefined) {
      this.#lifecycle = new TurnLifecycle(options.recorder, agent);
    }
    this.#clock = new TurnClock(prepared.agent, options);
    this.#prompts = this.#promptsOf(this.#prepared);
  }

  get prompts(): SessionPrompts {
    return this.#prompts;
  }

  /** Changes the tools of MCP servers for later steps. Returns whether they differ. */
  adopt(prepared: PreparedAgent): boolean {
    if (prepared === this.#given) return false;
    this.#given = prepared;
    this.#prepared = withExpansion(prepared, this.#options.blobs);
    this.#step = this.#prepared;
    this.#prompts = this.#promptsOf(this.#prepared);
    return true;
  }

  /** Starts the clock of a turn that began in another process. */
  countTurn(turn: number): void {
    this.#clock.resume(turn);
  }

  abort(why: Error): void {
    this[Symbol.dispose]();
    this.#lifecycle?.fail(why);
    this.#stop.abort(why);
  }

  get callbacks(): Promise<void> {
    return this.#lifecycle?.settled() ?? Promise.resolve();
  }

  /** Called after each recorded event, before its effects. */
  observe(event: SessionEvent): void {
    if (event.type === "turn.ended") this.#clock[Symbol.dispose]();
    this.#lifecycle?.observe(event);
  }

  [Symbol.dispose](): void {
    this.#clock[Symbol.dispose]();
  }

  #promptsOf(prepared: PreparedAgent): SessionPrompts {
    const { recorder, catalogue, source, clock, timer, random } = this.#options;
    return new SessionPrompts({ recorder, source, clock, timer, random }, { prepared, catalogue });
  }

  run(effect: Effect, event: SessionEvent): void {
    this.turn.run(effect, this.#run.bind(this, effect, event));
  }

  #run(effect: Effect, event: SessionEvent): void {
    switch (effect.type) {
      case "startTurn":
        return this.#startTurn();
      case "startStep":
        return this.#orFail(this.#startStep.bind(this));
      case "callModel":
        return this.#background(() => this.#callModel());
      case "backOff":
        return this.#background(() => this.#backOff(event));
      case "runTools":
        return this.#runTools(event);
      case "compact":
        return this.#background(() => this.#compact());
      case "freeContext":
        return this.#orFail(this.#freeContext.bind(this));
      case "abort":
        return this.#stop.abort(refusal(this.#options.recorder, "go on", "its turn was stopped"));
      case "settle":
        for (const body of settlement(this.#options.recorder.state, this.#prepared.agent))
          this.#record(body);
        return;
      case "endTurn":
        return this.#endTurn(effect.params);
    }
  }

  #startTurn(): void {
    const { turn } = this.#options.recorder.state.machine.context;
    const maxSteps = stepLimit(this.#prepared.agent);
    this.#clock.begin(turn + 1);
    this.#record({ type: "turn.started", data: { turn: turn + 1, maxSteps } });
  }

  #startStep(): void {
    const repeating = repetition(this.#options.recorder.state, this.#prepared.agent);
    if (repeating !== undefined) return this.#record(repeating);
    const asking = this.#boundary.enter(this.#enterStep.bind(this));
    if (asking !== undefined) this.#background(() => asking);
  }

  #enterStep(prepared: PreparedAgent): void {
    const { step } = this.#options.recorder.state.machine.context;
    this.#use(prepared);
    const next = this.#prompts.beforeStep();
    if (next !== undefined) this.#beginAttempt(step + 1, 1, next);
  }

  #use(prepared: PreparedAgent): void {
    if (prepared === this.#step) return;
    this.#step = prepared;
    this.#prompts.use(prepared);
  }

  #beginAttempt(
    step: number,
    attempt: number,
    { messages, estimate }: EstimatedPrompt = this.#prompts.next(),
  ): void {
    const { description: own } = this.#prepared;
    const { machine, view } = this.#options.recorder.state;
    const { turn } = machine.context;
    if (attempt === 1) this.#clock.beginStep(turn);
    this.#stop = new AbortController();
    this.#tools = undefined;
    this.#inputs = new Map();
    this.#messages = messages;
    this.#record({
      type: "step.started",
      data: {
        turn,
        step,
        attempt,
        model: this.#step.description.model,
        promptDigest: promptDigest(view.prepared?.agentDigest ?? own.digest, messages),
        estimate: estimate.recorded,
      },
    });
  }

  async #callModel(): Promise<void> {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) {
      const { agent } = this.#prepared;
      const setup = { agent, messages: this.#messages, context: contextOf(agent) };
      await this.#lifecycle?.begin({ ...setup, signal: this.#stop.signal });
      return this.#recordFailed(fault);
    }
    const { recorder, source, blobs, clock, timer, random } = this.#options;
    const inputs = this.#inputs;
    await runModelStep({
      recorder,
      source,
      agent: this.#step.agent,
      blobs: blobs.forAgent(this.#step),
      messages: this.#messages,
      context: () => this.turn.context(),
      observe: async (setup) => await this.#lifecycle?.beforeCall(setup),
      output: this.turn.output,
      signal: this.#stop.signal,
      onInput: (callId, input) => inputs.set(callId, input),
      mayBeShorter: () => this.#prompts.mayBeShorter(),
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
    const released = this.#options.recorder.replayGate({ kind: "step" });
    if (released !== undefined) await released;
    this.#record(stepCancelled(this.#options.recorder.state));
  }

  #runTools({ type }: SessionEvent): void {
    if (type === "tool.approval-answered")
      this.#clock.resume(this.#options.recorder.state.machine.context.turn);
    const { recorder, blobs, graceMs, timer, onFailure } = this.#options;
    if (this.#messages.length === 0) {
      // After a restart the prompt is made from the history again.
      const { history, view } = recorder.state;
      const { open: _, ...before } = history;
      this.#messages = promptMessages(before, view);
    }
    this.#tools ??= new ToolRunner({
      recorder,
      agent: this.#prompts.equipped(),
      blobs,
      signal: this.#stop.signal,
      graceMs,
      timer,
      messages: this.#messages,
      inputs: this.#inputs,
      context: () => this.turn.context(),
      observe: async (setup) => await this.#lifecycle?.beforeTool(setup),
      onFailure,
    });
    this.#tools.run();
  }

  async #compact(): Promise<void> {
    this.#stop = new AbortController();
    await this.#prompts.compact(this.#stop.signal);
  }

  #freeContext(): void {
    const { step, attempt } = this.#options.recorder.state.machine.context;
    if (this.#prompts.shortenRefused()) this.#beginAttempt(step, attempt + 1);
  }

  #endTurn({ reason }: { readonly reason: EventBody<"turn.ended">["data"]["reason"] }): void {
    this.#clock.endStep();
    this.#boundary.endTurn();
    this.#use(this.#prepared);
    const ending = endTurn(this.#options.recorder, reason, this.turn.output);
    if (ending !== undefined) this.#background(() => ending);
  }

  #background(work: () => Promise<void>): void {
    work()
      .catch((error: unknown) => {
        this.#failStep(error);
      })
      .catch(this.#options.onFailure);
  }

  #orFail(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failStep(error);
    }
  }

  /** An error of a user's function fails the step that calls it. Before a step, it begins one and fails that. */
  #failStep(error: unknown): void {
    const { recorder } = this.#options;
    const { machine } = recorder.state;
    if (!isCallbackFailure(error) || !machine.matches("streaming")) throw error;
    const stored = toStoredError(error);
    if (!machine.matches({ streaming: "boundary" })) return this.#recordFailed(stored);
    this.#fault = stored;
    this.#use(this.#prepared);
    this.#beginAttempt(machine.context.step + 1, 1, this.#prompts.plain());
  }

  #recordFailed(error: StoredError): void {
    this.#record(stepFailed(this.#options.recorder.state, error));
  }

  #record(body: EventBody): void {
    this.#options.recorder.record(body);
  }
}
