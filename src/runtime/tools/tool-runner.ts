/**
 * Brings every tool call of a step to its end: approval, execution, result. `run` reads the state of each
 * call and does its next act, so it may be called at any time. It never runs a call before `tool.started`
 * is durable.
 */

import type { ModelMessage } from "ai";
import {
  byId,
  defined,
  entriesOf,
  entryOf,
  ownCopy,
  type JsonValue,
  type StoredError,
} from "../../events/index.ts";
import type { CallState } from "../../machines/index.ts";
import type { CallPart } from "../../projections/index.ts";
import {
  type Agent,
  type AnsweredQuestion,
  toolContext,
  toolTimeoutMs,
  type TurnContext,
} from "../../agent/index.ts";
import { approvalOf, type Approval, type Decision } from "./approval.ts";
import { recordOffloaded, type SessionBlobs } from "../../media/index.ts";
import { denialReason, executed } from "./call-ending.ts";
import {
  type CallIdentity,
  type ToolObserver,
  type ToolSetup,
  executeCall,
  inputFromRecord,
  offloadedExecution,
  type AnyTool,
  type Execution,
  delegationOf,
  delegationFault,
  type Delegate,
  type Delegation,
} from "./tool-execution.ts";
import { toJson, toStoredError, type Timer } from "../../shared/index.ts";
import { CallParts, RunningCalls, StepCalls } from "./running-calls.ts";
import { type SessionRecorder, effectIdOf, waitsForPerson } from "../../state/index.ts";

export interface ToolRunnerOptions {
  readonly recorder: SessionRecorder;
  readonly agent: Agent;
  readonly blobs: Pick<SessionBlobs, "answer">;
  /** Aborted when the step is cancelled. */
  readonly signal: AbortSignal;
  /** Milliseconds between the abort of a tool and its abandonment. */
  readonly graceMs: number;
  readonly timer: Timer;
  /** The messages of the prompt that the calls answer. */
  readonly messages: readonly ModelMessage[];
  /** The outputs of the tools' input schemas, by call id. */
  readonly inputs: ReadonlyMap<string, unknown>;
  readonly context: () => Promise<Required<TurnContext>>;
  /** Runs a call of `agentTool` in its session. */
  readonly delegate: Delegate;
  readonly observe: (setup: ToolSetup) => Promise<ToolObserver | undefined>;
  /** Called with an error that cannot be recorded as an event. */
  readonly onFailure: (error: unknown) => void;
}

interface Runnable {
  readonly call: CallPart;
  readonly tool: AnyTool;
}

type Deciding = Extract<Approval, { readonly kind: "depends" }>;
interface Failed {
  readonly kind: "failed";
  readonly error: StoredError;
}

export class ToolRunner {
  readonly #options: ToolRunnerOptions;
  readonly #step: number;
  readonly #deciding = new Set<string>();
  /** Calls that are decided to need no approval and may wait for a free place: not decided twice. */
  readonly #allowed = new Set<string>();
  readonly #running: RunningCalls;
  readonly #parts = new CallParts();
  readonly #calls: StepCalls;

  constructor(options: ToolRunnerOptions) {
    this.#options = options;
    this.#step = options.recorder.state.machine.context.step;
    this.#running = new RunningCalls(options.agent);
    this.#calls = new StepCalls(options.recorder, this.#step);
  }

  run(): void {
    const { recorder } = this.#options;
    for (const [callId, state] of entriesOf(recorder.state.machine.context.calls)) {
      if (state === "ended" || this.#running.has(callId)) continue;
      const call = this.#parts.find(callId, recorder.state.history);
      // A log whose events were reordered has calls without a message: nothing could end their turn.
      if (call === undefined) this.#calls.skip({ callId });
      else this.#advance(call, state);
    }
  }

  /** Starts calls that waited for a free place, without a look at all calls. */
  #startNext(): void {
    const { recorder } = this.#options;
    for (let id = this.#running.next(); id !== undefined; id = this.#running.next()) {
      const state = entryOf(recorder.state.machine.context.calls, id);
      const call = this.#parts.find(id, recorder.state.history);
      if (call !== undefined && state !== undefined) this.#advance(call, state);
    }
  }

  #advance(call: CallPart, callState: CallState): void {
    const { state } = this.#options.recorder;
    const { skipCalls, stopping } = state.machine.context;
    switch (callState) {
      case "waiting":
        if (call.invalid === true) return this.#calls.refuse(call);
        if (skipCalls) return this.#calls.skip(call);
        return this.#deciding.has(call.callId) ? undefined : this.#decide(call);
      case "awaiting-approval":
        // A stopping turn asks for no approval.
        if (skipCalls || stopping !== undefined) return this.#calls.skip(call);
        return waitsForPerson(state, call.callId) ? undefined : this.#decide(call, true);
      case "approved":
        return skipCalls ? this.#calls.skip(call) : this.#start(call);
      case "awaiting-output":
        // A stopping turn waits for no client.
        return skipCalls || stopping !== undefined ? this.#calls.skip(call) : undefined;
      case "refused":
        return this.#calls.deny(call, denialReason(call));
      case "running":
        // Started by a process that died, and allowed to run again.
        return skipCalls ? this.#calls.skip(call) : this.#start(call);
      case "ended":
        return undefined;
    }
  }

  #decide(call: CallPart, isAsked = false): void {
    if (this.#allowed.has(call.callId)) return this.#start(call);
    const runnable = this.#runnable(call);
    if (runnable === undefined) return;
    const { agent, recorder } = this.#options;
    const { approvals } = recorder.state;
    const approval = approvalOf(call, runnable.tool, agent, approvals, isAsked);
    if (approval.kind !== "depends") return this.#carryOut(call, approval);
    this.#deciding.add(call.callId);
    this.#background(async () => {
      const decision = await this.#ask(runnable, approval);
      this.#deciding.delete(call.callId);
      if (!this.#calls.isStill(call, "waiting")) return;
      if (decision.kind === "failed") return this.#calls.fail(call, decision.error);
      if (decision.kind === "allowed") this.#allowed.add(call.callId);
      this.#carryOut(call, decision);
    });
  }

  #carryOut(call: CallPart, decision: Decision): void {
    switch (decision.kind) {
      case "allowed":
        return this.#start(call);
      case "needed":
        return this.#calls.requestApproval(call, decision.reason);
      case "refused":
        return this.#calls.deny(call, decision.reason);
    }
  }

  /** Calls the functions of the agent and the tool. An error of them fails the call. */
  async #ask(runnable: Runnable, { decide }: Deciding): Promise<Decision | Failed> {
    const { messages } = this.#options;
    try {
      const [input, context] = [await this.#input(runnable), await this.#options.context()];
      return await decide({ input, messages, context });
    } catch (error) {
      return { kind: "failed", error: toStoredError(error) };
    }
  }

  /** The call with its tool. Undefined if there is no tool: then the call has been failed. */
  #runnable(call: CallPart): Runnable | undefined {
    const tool = byId(this.#options.agent.tools ?? {}, call.toolName);
    if (tool !== undefined) return { call, tool };
    const message = `The tool ${call.toolName} is not among the agent's tools.`;
    this.#calls.fail(call, { name: "Error", message });
    return undefined;
  }

  /** Starts a call, or repeats one that a dead process had started. */
  #start(call: CallPart): void {
    const { recorder } = this.#options;
    const runnable = this.#runnable(call);
    if (runnable === undefined) return;
    if (runnable.tool.execute === undefined) return this.#calls.requestOutput(call);
    const delegation = delegationOf(runnable.tool, call, this.#step, recorder);
    const fault = delegation && delegationFault(runnable.tool, delegation);
    if (fault !== undefined) return this.#calls.fail(call, fault);
    if (!this.#running.take(call)) return;
    const attempt = this.#calls.attempts(call) + 1;
    const effectId = effectIdOf(recorder, this.#step, call.callId);
    recorder.record({
      type: "tool.started",
      data: {
        ...this.#calls.key(call),
        toolName: call.toolName,
        attempt,
        effectId,
        ...(delegation === undefined ? {} : { child: delegation.child }),
      },
    });
    this.#background(async () => {
      const identity = { session: recorder.session, step: this.#step, attempt, effectId };
      const execution = await this.#execute(runnable, identity, delegation);
      const offloading =
        execution.kind === "unknown" || execution.kind === "asked"
          ? undefined
          : offloadedExecution(this.#options.blobs, execution);
      const offloaded = offloading && (await offloading);
      const ended = offloaded?.content ?? execution;
      const lasting = recorder.outlast(ended);
      if (lasting !== undefined) await lasting;
      this.#running.delete(call);
      if (this.#calls.isStill(call, "running")) {
        const key = { ...this.#calls.key(call), toolName: call.toolName };
        const body = executed(key, ended, recorder.state.machine.context);
        recordOffloaded(recorder, offloaded?.stored ?? [], body);
      }
      if (offloaded !== undefined) releaseWhenDurable(recorder, offloaded);
      // The freed place may let a waiting call start.
      if (recorder.state.machine.context.step === this.#step) this.#startNext();
    });
  }

  async #execute(
    runnable: Runnable,
    identity: CallIdentity,
    delegation: Delegation | undefined,
  ): Promise<Execution> {
    const { recorder, agent, context, signal, timer, messages, delegate } = this.#options;
    // A session that is cancelled ends by its own grace period.
    const graceMs = delegation === undefined ? this.#options.graceMs : Infinity;
    const { call, tool } = runnable;
    // Law 1: the intent is durable before the tool runs.
    await recorder.durable();
    const timeoutMs = toolTimeoutMs(agent, call.toolName);
    const input = await this.#input(runnable);
    return await executeCall({
      tool,
      call,
      identity,
      input,
      answers: answersOf(call),
      context: async () => await toolContext(tool, call.toolName, await context()),
      turn: context,
      messages,
      signal,
      graceMs,
      timer,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(delegation === undefined
        ? {}
        : { runInSession: (task, stop) => delegate(delegation, task, stop) }),
      observe: async (given) =>
        await this.#options.observe({
          agent,
          call,
          input,
          messages,
          context: await context(),
          ...given,
        }),
      onProgress: (output) => this.#progressed(call, toJson(output)),
    });
  }

  #progressed(call: CallPart, output: JsonValue): Promise<void> | undefined {
    const { recorder, blobs } = this.#options;
    const isRunning = (): boolean => this.#calls.isStill(call, "running");
    return recordProgress({ recorder, blobs, key: this.#calls.key(call), isRunning }, output);
  }

  async #input({ call, tool }: Runnable): Promise<unknown> {
    const { inputs } = this.#options;
    // A copy for each reader: what a rule of the agent does to its own must not be what runs.
    return inputs.has(call.callId)
      ? ownCopy(inputs.get(call.callId))
      : inputFromRecord(tool, call.input);
  }

  #background(work: () => Promise<void>): void {
    work().catch(this.#options.onFailure);
  }
}

/** What persons answered to the questions that the call asked. */
function answersOf({ approvals = [] }: CallPart): readonly AnsweredQuestion[] {
  return approvals.flatMap(({ question, state, answer }) =>
    question === undefined || answer?.approved !== true
      ? []
      : [
          {
            question,
            answer: { content: answer.content ?? {}, ...defined({ by: answer.by, state }) },
          },
        ],
  );
}

// Preliminary outputs of a running tool, and the blobs of outputs until their events are durable.

interface Progress {
  readonly recorder: SessionRecorder;
  readonly blobs: Pick<SessionBlobs, "answer">;
  readonly key: { readonly step: number; readonly callId: string };
  /** Whether the call still runs: a late output changes nothing. */
  readonly isRunning: () => boolean;
}

/** Records a preliminary output. Returns a wait if media must be stored first. */
function recordProgress(
  { recorder, blobs, key, isRunning }: Progress,
  output: JsonValue,
): Promise<void> | undefined {
  const record = (shown: JsonValue, stored: Parameters<typeof recordOffloaded>[1] = []): void => {
    if (!isRunning()) return;
    const data = { ...key, output: shown };
    recordOffloaded(recorder, stored, { type: "tool.progressed", data });
  };
  const offloading = blobs.answer({ output, modelOutput: undefined });
  if (offloading === undefined) {
    record(output);
    return undefined;
  }
  return offloading.then((offloaded) => {
    record(offloaded.content.output, offloaded.stored);
    releaseWhenDurable(recorder, offloaded);
  });
}

/** Holds stored blobs until the event that refers to them is durable or has failed. */
function releaseWhenDurable(recorder: SessionRecorder, offloaded: Disposable): void {
  const release = (): void => {
    offloaded[Symbol.dispose]();
  };
  void recorder.durable().then(release, release);
}
