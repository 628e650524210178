/**
 * Runs the effects that the machine asks for, in the order of a turn: it starts, its steps start, each calls
 * the model and the tools, context is freed, the turn ends.
 */

import {
  type EventBody,
  type SessionEvent,
  type StoredError,
  ownCopy,
} from "../../events/index.ts";
import type { Effect } from "../../machines/index.ts";
import { promptDigest, promptMessages, settingsEvent, textEvent } from "../../projections/index.ts";
import {
  type Agent,
  type PreparedAgent,
  type StepSource,
  bindSearch,
  contextOf,
  isCallbackFailure,
  stepLimit,
} from "../../agent/index.ts";
import type { Place } from "../prompt/context-figures.ts";
import { type PromptContext, SessionPrompts } from "../prompt/prompts.ts";
import { type SessionRecorder, type SessionState, settlement } from "../../state/index.ts";
import { type Timer, toStoredError, waited } from "../../shared/index.ts";
import { TurnLifecycle } from "../lifecycle/turn-lifecycle.ts";
import { refusal } from "../../commands/index.ts";
import { Failover, type FailoverOptions } from "../model/failover.ts";
import { RunningTurn, type RunningTurnOptions } from "./running-turn.ts";
import { StepBoundary, type StepBoundaryOptions } from "./step-boundary.ts";
import { endTurn } from "./turn-outcome.ts";
import { TurnClock, repetition } from "./turn-limits.ts";
import { type ModelCatalogue, estimateSpent } from "../../context/index.ts";
import { type SessionBlobs, withExpansion } from "../../media/index.ts";
import type { ModelMessage } from "ai";
import { runModelStep } from "../model/model-step.ts";
import { ToolRunner } from "../tools/tool-runner.ts";
import type { Delegate } from "../tools/tool-execution.ts";

type AttemptOptions = Omit<
  StepAttemptOptions,
  "turn" | "lifecycle" | "prompts" | "failover" | "signal"
>;

export interface SessionEffectsOptions
  extends
    AttemptOptions,
    Omit<RunningTurnOptions, "agent">,
    Pick<RunningAgentOptions, "catalogue">,
    Omit<FailoverOptions, "recorder">,
    Pick<StepBoundaryOptions, "readSpending"> {}

export class SessionEffects implements Disposable {
  readonly #options: SessionEffectsOptions;
  readonly #agent: RunningAgent;
  readonly turn: RunningTurn;
  readonly #boundary: StepBoundary;
  readonly #failover: Failover;
  /** Undefined in a replay. */
  readonly #lifecycle: TurnLifecycle | undefined;
  readonly #clock: TurnClock;
  /** Stops what runs now: the model call, the back-off, the tools, a compaction. */
  #stop = new AbortController();
  #attempt: StepAttempt;
  /** Fails the step that begins next before its model is called. */
  #fault: StoredError | undefined;

  constructor(prepared: PreparedAgent, options: SessionEffectsOptions) {
    this.#options = options;
    this.#failover = new Failover(options);
    this.#agent = new RunningAgent(prepared, { ...options, failover: this.#failover });
    this.#agent.use(this.#failover.standing(this.#agent.own));
    const agent = (): Agent => this.#agent.own.agent;
    this.turn = new RunningTurn({ ...options, agent });
    this.#boundary = new StepBoundary({
      ...options,
      turn: this.turn,
      prepared: () => this.#agent.own,
      callbacks: () => this.callbacks,
      begin: async (setup) => await this.#lifecycle?.beforeStep(setup),
    });
    const { recorder, catalogue, recording } = options;
    if (recording.isReplay !== true)
      this.#lifecycle = new TurnLifecycle(recorder, agent, catalogue);
    this.#clock = new TurnClock(prepared.agent, options);
    this.#attempt = new StepAttempt(this.#attemptOptions());
  }

  get prompts(): SessionPrompts {
    return this.#agent.prompts;
  }

  get callbacks(): Promise<void> {
    return this.#lifecycle?.settled() ?? Promise.resolve();
  }

  /** Changes the tools of MCP servers for later steps. Returns whether they differ. */
  adopt(prepared: PreparedAgent): boolean {
    return this.#agent.adopt(prepared);
  }

  /** Starts the clock of a turn that began in another process. */
  countTurn(turn: number): void {
    this.#clock.resume(turn);
  }

  /** Called after each recorded event, before its effects. */
  observe(event: SessionEvent): void {
    if (event.type === "turn.ended") this.#clock[Symbol.dispose]();
    if (event.type === "turn.allowed") this.#clock.resume(event.data.turn);
    this.#lifecycle?.observe(event);
  }

  abort(why: Error): void {
    this[Symbol.dispose]();
    this.#lifecycle?.fail(why);
    this.#stop.abort(why);
  }

  [Symbol.dispose](): void {
    this.#clock[Symbol.dispose]();
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
        return this.#stop.abort(
          refusal(this.#options.recorder, "continue", "its turn was stopped"),
        );
      case "settle":
        for (const body of settlement(this.#options.recorder.state, this.#agent.own.agent))
          this.#record(body);
        return;
      case "endTurn":
        return this.#endTurn(effect.params);
    }
  }

  #startTurn(): void {
    const { turn } = this.#options.recorder.state.machine.context;
    const maxSteps = stepLimit(this.#agent.own.agent);
    this.#clock.begin(turn + 1);
    this.#record({ type: "turn.started", data: { turn: turn + 1, maxSteps } });
  }

  #startStep(): void {
    const repeating = repetition(this.#options.recorder.state, this.#agent.own.agent);
    if (repeating !== undefined) return this.#record(repeating);
    const asking = this.#boundary.enter(this.#enterStep.bind(this));
    if (asking !== undefined) this.#background(() => asking);
  }

  #enterStep(prepared: PreparedAgent): void {
    const { step } = this.#options.recorder.state.machine.context;
    this.#agent.use(this.#failover.begin(prepared));
    // A compaction would be spent in vain.
    if (this.#isOutOfBudget()) return;
    const next = this.prompts.beforeStep();
    if (next === undefined || this.#isOutOfBudget(next.estimate.tokens)) return;
    this.#beginAttempt(step + 1, 1, next);
  }

  #isOutOfBudget(promptTokens?: number): boolean {
    const { recorder, limitReached } = this.#options;
    const reached = limitReached?.(recorder, this.#agent.step.description.model, promptTokens);
    if (reached !== undefined) this.#record(reached);
    return reached !== undefined;
  }

  #beginAttempt(
    step: number,
    attempt: number,
    { messages, estimate }: Place = this.prompts.next(),
  ): void {
    const { description: own } = this.#agent.own;
    const { machine, view } = this.#options.recorder.state;
    const { turn } = machine.context;
    if (attempt === 1) this.#clock.beginStep(turn);
    this.#recordTexts();
    this.#stop = new AbortController();
    this.#attempt = new StepAttempt(this.#attemptOptions(), messages);
    this.#record({
      type: "step.started",
      data: {
        turn,
        step,
        attempt,
        model: this.#agent.step.description.model,
        promptDigest: promptDigest(view.prepared?.agentDigest ?? own.digest, messages),
        estimate: estimate.recorded,
      },
    });
  }

  /** The log has every text and setting of a prompt before the step that sends it. */
  #recordTexts(): void {
    const { recorder, recording } = this.#options;
    const { texts, settings } = this.#agent.step;
    if (recording.texts === undefined) {
      for (const [digest, text] of texts) {
        const event = textEvent(recorder.state.standing, text, digest);
        if (event !== undefined) this.#record(event);
      }
    } else {
      const recorded = recording.texts(recorder.state.position);
      if (recorded === undefined) return;
      for (const event of recorded) this.#record(event);
    }
    const configured = settingsEvent(recorder.state.standing, settings);
    if (configured !== undefined) this.#record(configured);
  }

  async #callModel(): Promise<void> {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault === undefined) return await this.#attempt.callModel(this.#agent.step);
    await this.#attempt.beginFailed(this.#agent.own);
    this.#recordFailed(fault);
  }

  async #backOff(event: SessionEvent): Promise<void> {
    if (event.type !== "step.retrying") return;
    const { step, attempt, delayMs } = event.data;
    const { signal } = this.#stop;
    const { timer, recorder } = this.#options;
    const { reductions, failover } = recorder.state.view;
    // A reduced prompt and another model are tried at once: nothing comes between.
    const isMoved = failover?.position === event.position - 1;
    const isReduced = reductions?.at(-1)?.position === event.position - 1;
    if (isMoved) this.#agent.use(this.#failover.calling(this.#agent.step));
    const isDue = isMoved || isReduced || (await waited(timer, delayMs, { kind: "retry" }, signal));
    if (isDue)
      return this.#beginAttempt(step, attempt + 1, isMoved ? this.prompts.refitted() : undefined);
    this.#record(stepCancelled(this.#options.recorder.state));
  }

  #runTools({ type }: SessionEvent): void {
    if (type === "tool.approval-answered")
      this.#clock.resume(this.#options.recorder.state.machine.context.turn);
    this.#attempt.runTools();
  }

  async #compact(): Promise<void> {
    this.#stop = new AbortController();
    await this.prompts.compact(this.#stop.signal);
  }

  #freeContext(): void {
    const { step, attempt } = this.#options.recorder.state.machine.context;
    if (this.prompts.shortenRefused()) this.#beginAttempt(step, attempt + 1);
  }

  #endTurn({ reason }: { readonly reason: EventBody<"turn.ended">["data"]["reason"] }): void {
    this.#clock.endStep();
    this.#boundary.endTurn();
    this.#agent.use(this.#agent.own);
    const ending = endTurn(this.#options.recorder, reason, this.turn.output);
    if (ending !== undefined) this.#background(() => ending);
  }

  #attemptOptions(): StepAttemptOptions {
    const { recorder, source, blobs, delegate } = this.#options;
    const { graceMs, clock, timer, random, onFailure } = this.#options;
    const own = { recorder, source, blobs, graceMs, clock, timer, random, onFailure };
    return {
      ...own,
      delegate,
      turn: this.turn,
      lifecycle: this.#lifecycle,
      prompts: () => this.prompts,
      failover: this.#failover,
      signal: this.#stop.signal,
    };
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
    this.#agent.use(this.#agent.own);
    this.#beginAttempt(machine.context.step + 1, 1, this.prompts.plain());
  }

  #recordFailed(error: StoredError): void {
    this.#record(stepFailed(this.#options.recorder.state, error));
  }

  #record(body: EventBody): void {
    this.#options.recorder.record(body);
  }
}

// The agent of a session in its forms: as it was given, with its blobs expanded, and as the step changed it.

interface RunningAgentOptions extends PromptContext {
  readonly catalogue: ModelCatalogue;
  readonly blobs: SessionBlobs;
}

class RunningAgent {
  readonly #options: RunningAgentOptions;
  #given: PreparedAgent;
  #own: PreparedAgent;
  #step: PreparedAgent;
  #prompts: SessionPrompts;

  constructor(given: PreparedAgent, options: RunningAgentOptions) {
    this.#options = options;
    this.#given = given;
    this.#own = withExpansion(given, options.blobs);
    this.#step = this.#own;
    this.#prompts = this.#promptsOf(this.#own);
  }

  /** The session's agent. Its estimator expands blobs as a request does. */
  get own(): PreparedAgent {
    return this.#own;
  }

  /** The agent of the step, as `prepareStep` changed it. */
  get step(): PreparedAgent {
    return this.#step;
  }

  get prompts(): SessionPrompts {
    return this.#prompts;
  }

  /** Changes the tools of MCP servers for later steps. Returns whether they differ. */
  adopt(given: PreparedAgent): boolean {
    if (given === this.#given) return false;
    this.#given = given;
    this.#own = withExpansion(given, this.#options.blobs);
    this.#step = this.#own;
    this.#prompts = this.#promptsOf(this.#own);
    return true;
  }

  /** Prepares the next prompts for a step's agent. */
  use(step: PreparedAgent): void {
    if (step === this.#step) return;
    this.#step = step;
    this.#prompts.use(step);
  }

  #promptsOf(prepared: PreparedAgent): SessionPrompts {
    const { recorder, catalogue, source, failover, clock, timer, random } = this.#options;
    return new SessionPrompts(
      { recorder, source, failover, clock, timer, random },
      { prepared, catalogue },
    );
  }
}

// One attempt at a step: its prompt, its model call and its tool calls. After a restart the history has its data.

interface StepAttemptOptions {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly blobs: SessionBlobs;
  /** Runs calls of sub-agents. */
  readonly delegate: Delegate;
  readonly graceMs: number;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly random: () => number;
  readonly turn: RunningTurn;
  /** Undefined in a replay. */
  readonly lifecycle: TurnLifecycle | undefined;
  readonly prompts: () => SessionPrompts;
  readonly failover: Failover;
  /** Stops the model call and the tools. */
  readonly signal: AbortSignal;
  /** Called with an error that can no longer be recorded as an event. */
  readonly onFailure: (error: unknown) => void;
}

class StepAttempt {
  readonly #options: StepAttemptOptions;
  /** The prompt; undefined if another process sent it. */
  readonly #sent: readonly ModelMessage[] | undefined;
  /** The outputs of the tools' input schemas, by call id. */
  readonly #inputs = new Map<string, unknown>();
  #tools: ToolRunner | undefined;

  constructor(options: StepAttemptOptions, sent?: readonly ModelMessage[]) {
    this.#options = options;
    this.#sent = sent;
  }

  /** Begins the callbacks of a step that fails before its model is called. */
  async beginFailed({ agent }: PreparedAgent): Promise<void> {
    const { lifecycle, signal } = this.#options;
    const setup = { agent, messages: this.#messages, context: contextOf(agent), signal };
    await lifecycle?.begin(setup);
  }

  async callModel(prepared: PreparedAgent): Promise<void> {
    const { turn, lifecycle, prompts, failover, ...options } = this.#options;
    await runModelStep({
      ...options,
      agent: prepared.agent,
      texts: prepared,
      blobs: options.blobs.forAgent(prepared),
      messages: this.#messages,
      context: () => turn.context(),
      observe: async (setup) => await lifecycle?.beforeCall(setup),
      output: turn.output,
      // A copy: the tool's callbacks get the input too.
      onInput: (callId, input) => this.#inputs.set(callId, ownCopy(input)),
      mayBeShorter: () => prompts().mayBeShorter(),
      isReplay: lifecycle === undefined,
      reduced: (kind, error) => prompts().reduced(kind, error),
      failover: (kind, isSpent) =>
        failover.after(prepared, {
          kind,
          isSpent,
          promptTokens: () => prompts().next().estimate.tokens,
        }),
      onEnd: (kind) => {
        failover.ended(prepared.agent.model, kind);
      },
    });
  }

  /** Does the next act of each call. */
  runTools(): void {
    const { turn, lifecycle, prompts, failover: _, ...options } = this.#options;
    this.#tools ??= new ToolRunner({
      ...options,
      agent: bindSearch(prompts().equipped(), () => turn.context()),
      messages: this.#messages,
      inputs: this.#inputs,
      context: () => turn.context(),
      observe: async (setup) => await lifecycle?.beforeTool(setup),
    });
    this.#tools.run();
  }

  get #messages(): readonly ModelMessage[] {
    if (this.#sent !== undefined) return this.#sent;
    // After a restart the prompt is made from the history again.
    const { history, view } = this.#options.recorder.state;
    const { open: _, ...before } = history;
    return promptMessages(before, view);
  }
}

/** The end of a step that no model has ended. */
function stepFailed(
  { machine, usage: spent, history }: SessionState,
  error: StoredError,
): EventBody {
  const usage = estimateSpent(spent, history);
  const { step } = machine.context;
  return { type: "step.failed", data: { step, kind: "unknown", error, usage } };
}

function stepCancelled({ machine, usage: spent, history }: SessionState): EventBody {
  const usage = estimateSpent(spent, history);
  const { step } = machine.context;
  return { type: "step.interrupted", data: { step, reason: "cancelled", usage } };
}
