/** One attempt at a step: its prompt, its model call and its tool calls. After a restart the history has its data. */

import type { ModelMessage } from "ai";
import { estimateSpent } from "../../context/index.ts";
import { ownCopy, type EventBody, type StoredError } from "../../events/index.ts";
import { promptMessages } from "../../projections/index.ts";
import { type PreparedAgent, type StepSource, bindSearch, contextOf } from "../../agent/index.ts";
import type { SessionBlobs } from "../../media/index.ts";
import { runModelStep } from "../model/model-step.ts";
import type { SessionRecorder, SessionState } from "../../state/index.ts";
import type { Timer } from "../../shared/index.ts";
import type { TurnLifecycle } from "../lifecycle/turn-lifecycle.ts";
import type { SessionPrompts } from "../prompt/prompts.ts";
import { ToolRunner } from "../tools/tool-runner.ts";
import type { Delegate } from "../tools/tool-execution.ts";
import type { Failover } from "../model/failover.ts";
import type { RunningTurn } from "./running-turn.ts";

export interface StepAttemptOptions {
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

export class StepAttempt {
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
export function stepFailed(
  { machine, usage: spent, history }: SessionState,
  error: StoredError,
): EventBody {
  const usage = estimateSpent(spent, history);
  const { step } = machine.context;
  return { type: "step.failed", data: { step, kind: "unknown", error, usage } };
}

export function stepCancelled({ machine, usage: spent, history }: SessionState): EventBody {
  const usage = estimateSpent(spent, history);
  const { step } = machine.context;
  return { type: "step.interrupted", data: { step, reason: "cancelled", usage } };
}
