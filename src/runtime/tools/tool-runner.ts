/**
 * Brings every tool call of a step to its end: approval, execution, result. Used alike after a model
 * step, after an approval and after a crash. It looks at how the calls stand and does what is next,
 * so it may be asked again at any time. It never runs a call that is not announced in the log.
 */

import type { ModelMessage, Tool } from "ai";
import {
  byId,
  entriesOf,
  entryOf,
  type EventBody,
  type JsonValue,
  type StoredError,
} from "../../events/index.ts";
import type { CallState } from "../../machines/index.ts";
import type { CallPart } from "../../projections/index.ts";
import type { Agent } from "../../agent/index.ts";
import { approvalOf, type ApprovalCheck } from "./approval.ts";
import { recordOffloaded, type SessionBlobs } from "../../media/index.ts";
import { offloadedExecution } from "./offloaded-execution.ts";
import { denied, executed, skipped } from "./call-ending.ts";
import type { CallIdentity } from "./call-identity.ts";
import { toJson, toStoredError, type Timer } from "../../shared/index.ts";
import { RunningCalls } from "./running-calls.ts";
import { type SessionRecorder, attemptsAt, effectIdOf, waitsForPerson } from "../../state/index.ts";
import { executeCall, type Execution } from "./tool-execution.ts";
import { inputFromRecord } from "./tool-input.ts";

export interface ToolRunnerOptions {
  readonly recorder: SessionRecorder;
  readonly agent: Agent;
  /** Where media in answers are kept. */
  readonly blobs: Pick<SessionBlobs, "answer">;
  /** Aborted when the step is cancelled. */
  readonly signal: AbortSignal;
  /** Milliseconds that a tool is given to end after it was told to. */
  readonly graceMs: number;
  readonly timer: Timer;
  /** The messages of the prompt that the calls answer. */
  readonly messages: readonly ModelMessage[];
  /** Inputs as the tools' schemas made them, by call id. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** Told when something went wrong that no event can say, such as a log that does not accept more. */
  readonly onFailure: (error: unknown) => void;
}

/** A call that can be run, with the tool that runs it. */
interface Runnable {
  readonly call: CallPart;
  readonly tool: Tool;
}

export class ToolRunner {
  readonly #options: ToolRunnerOptions;
  readonly #step: number;
  readonly #deciding = new Set<string>();
  /** Calls that need no approval, of which some have to wait for a place: nobody is asked twice. */
  readonly #allowed = new Set<string>();
  readonly #running: RunningCalls;
  /** Where each call is among the parts of its step: parts are added, and never moved. */
  readonly #places = new Map<string, number>();

  constructor(options: ToolRunnerOptions) {
    this.#options = options;
    this.#step = options.recorder.state.machine.context.step;
    this.#running = new RunningCalls(options.agent);
  }

  /** Does whatever is next for each call. */
  run(): void {
    const { recorder } = this.#options;
    for (const [callId, state] of entriesOf(recorder.state.machine.context.calls)) {
      const call = this.#find(callId);
      if (call !== undefined && !this.#running.has(callId)) this.#advance(call, state);
    }
  }

  /** Starts what waited for a place that has come free: a look at all calls for each would cost their square. */
  #startNext(): void {
    const { recorder } = this.#options;
    for (let id = this.#running.next(); id !== undefined; id = this.#running.next()) {
      const state = entryOf(recorder.state.machine.context.calls, id);
      const call = this.#find(id);
      if (call !== undefined && state !== undefined) this.#advance(call, state);
    }
  }

  #find(callId: string): CallPart | undefined {
    const { parts = [] } = this.#options.recorder.state.history.open ?? {};
    const part = parts[this.#places.get(callId) ?? -1];
    if (part?.kind === "call" && part.callId === callId) return part;
    for (const [index, one] of parts.entries()) {
      if (one.kind === "call") this.#places.set(one.callId, index);
    }
    const found = parts[this.#places.get(callId) ?? -1];
    return found?.kind === "call" && found.callId === callId ? found : undefined;
  }

  #advance(call: CallPart, callState: CallState): void {
    const { state } = this.#options.recorder;
    const { skipCalls, stopping } = state.machine.context;
    switch (callState) {
      case "waiting":
        if (call.invalid === true) return this.#refuse(call);
        if (skipCalls) return this.#skip(call);
        return this.#deciding.has(call.callId) ? undefined : this.#decide(call);
      case "awaiting-approval":
        // In a turn that stops, nobody is asked any more.
        if (skipCalls || stopping !== undefined) return this.#skip(call);
        return waitsForPerson(state, call.callId) ? undefined : this.#decide(call);
      case "approved":
        return skipCalls ? this.#skip(call) : this.#start(call);
      case "refused":
        return this.#deny(call, reasonOf(call));
      case "running":
        // A dead process had started it, and it may be repeated.
        return skipCalls ? this.#skip(call) : this.#start(call);
      case "ended":
        return undefined;
    }
  }

  #decide(call: CallPart): void {
    if (this.#allowed.has(call.callId)) return this.#start(call);
    const runnable = this.#runnable(call);
    if (runnable === undefined) return;
    const { agent, recorder } = this.#options;
    const approval = approvalOf(call, runnable.tool, agent, recorder.state.approvals);
    switch (approval.kind) {
      case "allowed":
        return this.#start(call);
      case "needed":
        return this.#requestApproval(call);
      case "refused":
        return this.#deny(call, approval.reason);
      case "depends":
        this.#deciding.add(call.callId);
        return this.#background(async () => {
          const needed = await this.#ask(runnable, approval.isNeeded);
          const released = recorder.replayGate({ kind: "decision", callId: call.callId });
          if (released !== undefined) await released;
          this.#deciding.delete(call.callId);
          if (!this.#stands(call, "waiting")) return;
          if (typeof needed !== "boolean") return this.#fail(call, needed);
          if (needed) return this.#requestApproval(call);
          this.#allowed.add(call.callId);
          this.#start(call);
        });
    }
  }

  /** What the tool and the agent say of this call; an error of theirs is the call's. */
  async #ask(runnable: Runnable, isNeeded: ApprovalCheck): Promise<boolean | StoredError> {
    const { recorder, messages } = this.#options;
    try {
      const input = await this.#input(runnable);
      return await isNeeded({ session: recorder.session, call: runnable.call, input, messages });
    } catch (error) {
      return toStoredError(error);
    }
  }

  /** The tool of a call, or undefined after saying in the log why there is none. */
  #runnable(call: CallPart): Runnable | undefined {
    const tool = byId(this.#options.agent.tools ?? {}, call.toolName);
    if (tool?.execute !== undefined) return { call, tool };
    const why = tool === undefined ? "is not among the agent's tools" : "has no `execute` function";
    this.#fail(call, { name: "Error", message: `The tool ${call.toolName} ${why}.` });
    return undefined;
  }

  #requestApproval(call: CallPart): void {
    const { recorder } = this.#options;
    // In a turn that stops, nobody is asked any more.
    if (recorder.state.machine.context.stopping !== undefined) return this.#skip(call);
    recorder.record({
      type: "tool.approval-requested",
      data: { ...this.#key(call), toolName: call.toolName },
    });
  }

  /** Starts a call, or starts one again that a dead process had started. */
  #start(call: CallPart): void {
    const { recorder } = this.#options;
    const runnable = this.#runnable(call);
    if (runnable === undefined || !this.#running.take(call)) return;
    const attempt = this.#attempts(call) + 1;
    const effectId = effectIdOf(recorder, this.#step, call.callId);
    recorder.record({
      type: "tool.started",
      data: { ...this.#key(call), toolName: call.toolName, attempt, effectId },
    });
    this.#background(async () => {
      const identity = { session: recorder.session, step: this.#step, attempt, effectId };
      const execution = await this.#execute(runnable, identity);
      const offloading = offloadedExecution(this.#options.blobs, execution);
      const offloaded = offloading && (await offloading);
      const released = recorder.replayGate({ kind: "call", callId: call.callId });
      if (released !== undefined) await released;
      this.#running.delete(call);
      if (this.#stands(call, "running")) {
        const ended = offloaded?.content ?? execution;
        const body = executed(this.#key(call), ended, recorder.state.machine.context);
        recordOffloaded(recorder, offloaded?.stored ?? [], body);
      }
      if (offloaded !== undefined) letGo(recorder, offloaded);
      // A place has come free for a call that had to wait.
      if (recorder.state.machine.context.step === this.#step) this.#startNext();
    });
  }

  async #execute(runnable: Runnable, identity: CallIdentity): Promise<Execution> {
    const { recorder, agent, signal, graceMs, timer, messages } = this.#options;
    const { call, tool } = runnable;
    // Law 1: the world is touched only when the intent is durable.
    await recorder.durable();
    const timeoutMs =
      byId(agent.toolPolicies ?? {}, call.toolName)?.timeoutMs ?? agent.toolTimeoutMs;
    return await executeCall({
      tool,
      call,
      identity,
      input: await this.#input(runnable),
      messages,
      signal,
      graceMs,
      timer,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      onProgress: (output) => this.#progressed(call, toJson(output)),
    });
  }

  /** Answers what is to be waited for, where there is something to be moved out of it first. */
  #progressed(call: CallPart, output: JsonValue): Promise<void> | undefined {
    const { recorder, blobs } = this.#options;
    const record = (shown: JsonValue, stored: Parameters<typeof recordOffloaded>[1] = []): void => {
      if (!this.#stands(call, "running")) return;
      const data = { ...this.#key(call), output: shown };
      recordOffloaded(recorder, stored, { type: "tool.progressed", data });
    };
    const offloading = blobs.answer({ output, modelOutput: undefined });
    if (offloading === undefined) {
      record(output);
      return undefined;
    }
    return offloading.then((offloaded) => {
      record(offloaded.content.output, offloaded.stored);
      letGo(recorder, offloaded);
    });
  }

  async #input({ call, tool }: Runnable): Promise<unknown> {
    const { inputs } = this.#options;
    return inputs.has(call.callId) ? inputs.get(call.callId) : inputFromRecord(tool, call.input);
  }

  #skip(call: CallPart): void {
    this.#leave(call, skipped(this.#key(call), this.#options.recorder.state.machine.context));
  }

  #deny(call: CallPart, reason: string | undefined): void {
    this.#leave(call, denied(this.#key(call), reason));
  }

  /** The model's call fits no tool, or not the tool's schema. */
  #refuse(call: CallPart): void {
    const message = `The call of ${call.toolName} is invalid.`;
    this.#fail(call, call.error ?? { name: "Error", message });
  }

  #fail(call: CallPart, error: StoredError): void {
    this.#leave(call, { type: "tool.failed", data: { ...this.#key(call), error } });
  }

  /** Ends a call that is not run; of one that a dead process had started, it stays open what it did. */
  #leave(call: CallPart, ending: EventBody): void {
    const unknown = { ...this.#key(call), reason: "recovered" } as const;
    this.#options.recorder.record(
      this.#attempts(call) === 0 ? ending : { type: "tool.unknown", data: unknown },
    );
  }

  #attempts({ callId }: CallPart): number {
    return attemptsAt(this.#options.recorder.state, callId);
  }

  #key(call: CallPart): { readonly step: number; readonly callId: string } {
    return { step: this.#step, callId: call.callId };
  }

  /** Whether the call still stands where this runner left it: a late answer changes nothing. */
  #stands(call: CallPart, state: "waiting" | "running"): boolean {
    const { context } = this.#options.recorder.state.machine;
    return context.step === this.#step && entryOf(context.calls, call.callId) === state;
  }

  #background(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#options.onFailure(error);
    });
  }
}

/** What was stored may be collected again when the log has what refers to it, or will never have it. */
function letGo(recorder: SessionRecorder, offloaded: Disposable): void {
  const release = (): void => {
    offloaded[Symbol.dispose]();
  };
  void recorder.durable().then(release, release);
}

function reasonOf({ outcome }: CallPart): string | undefined {
  return outcome.status === "refused" ? outcome.reason : undefined;
}
