/** The calls that run, those that wait for a free place, and which of them is next. Limits concurrency. */

import { byId, entryOf, type EventBody, type StoredError } from "../../events/index.ts";
import type { CallPart, HistoryPart, HistoryState } from "../../projections/index.ts";
import { type Agent, toolConcurrency } from "../../agent/index.ts";
import { attemptsAt, hasUnknownAttempt, type SessionRecorder } from "../../state/index.ts";
import { denied, skipped, unfinished } from "./call-ending.ts";

type NamedCall = Pick<CallPart, "callId" | "toolName">;

interface WaitingCall {
  readonly callId: string;
  readonly ticket: number;
  /** All waiting calls of its tool. */
  readonly queue: Map<string, number>;
}

export class RunningCalls {
  readonly #agent: Agent;
  readonly #running = new Set<string>();
  readonly #runningByTool = new Map<string, number>();
  /** Waiting calls by tool, oldest first, each with its ticket number. */
  readonly #waiting = new Map<string, Map<string, number>>();
  #lastTicket = 0;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  has(callId: string): boolean {
    return this.#running.has(callId);
  }

  /** Takes a place for a call. If none is free, the call waits, and this returns false. */
  take({ callId, toolName }: NamedCall): boolean {
    const queue = this.#waiting.get(toolName) ?? new Map<string, number>();
    if (!this.#hasPlaceFor(toolName)) {
      this.#waiting.set(toolName, queue);
      if (!queue.has(callId)) queue.set(callId, (this.#lastTicket += 1));
      return false;
    }
    queue.delete(callId);
    this.#running.add(callId);
    this.#runningByTool.set(toolName, (this.#runningByTool.get(toolName) ?? 0) + 1);
    return true;
  }

  delete({ callId, toolName }: NamedCall): void {
    if (!this.#running.delete(callId)) return;
    this.#runningByTool.set(toolName, (this.#runningByTool.get(toolName) ?? 1) - 1);
  }

  /** Removes and returns the oldest waiting call that has a free place. */
  next(): string | undefined {
    let found: WaitingCall | undefined;
    for (const [toolName, queue] of this.#waiting) {
      const [oldest] = queue;
      if (oldest === undefined || !this.#hasPlaceFor(toolName)) continue;
      const [callId, ticket] = oldest;
      if (found === undefined || ticket < found.ticket) found = { callId, ticket, queue };
    }
    found?.queue.delete(found.callId);
    return found?.callId;
  }

  #hasPlaceFor(toolName: string): boolean {
    const { toolPolicies = {} } = this.#agent;
    const limit = byId(toolPolicies, toolName)?.concurrency ?? Number.POSITIVE_INFINITY;
    return (
      this.#running.size < toolConcurrency(this.#agent) &&
      (this.#runningByTool.get(toolName) ?? 0) < limit
    );
  }
}

/** Finds the calls of the running step among its parts. */
export class CallParts {
  /** The index of each call. Parts are only appended. */
  readonly #indexes = new Map<string, number>();

  find(callId: string, { open }: HistoryState): CallPart | undefined {
    const parts = open?.parts ?? [];
    const known = this.#known(callId, parts);
    if (known !== undefined) return known;
    for (const [index, part] of parts.entries()) {
      if (part.kind === "call") this.#indexes.set(part.callId, index);
    }
    return this.#known(callId, parts);
  }

  #known(callId: string, parts: readonly HistoryPart[]): CallPart | undefined {
    const part = parts[this.#indexes.get(callId) ?? -1];
    return part?.kind === "call" && part.callId === callId ? part : undefined;
  }
}

// Records the outcome of the calls of one step that do not run: a question, skipped, denied or failed.

type CallId = Pick<CallPart, "callId">;

export class StepCalls {
  readonly #recorder: SessionRecorder;
  readonly #step: number;

  constructor(recorder: SessionRecorder, step: number) {
    this.#recorder = recorder;
    this.#step = step;
  }

  key({ callId }: CallId): { readonly step: number; readonly callId: string } {
    return { step: this.#step, callId };
  }

  /** How often the call was started, also by processes that died. */
  attempts({ callId }: CallId): number {
    return attemptsAt(this.#recorder.state, callId);
  }

  /** Whether the call is still in a state of this step: a late outcome changes nothing. */
  isStill({ callId }: CallPart, state: "waiting" | "running"): boolean {
    const { context } = this.#recorder.state.machine;
    return context.step === this.#step && entryOf(context.calls, callId) === state;
  }

  requestApproval(call: CallPart, reason: string | undefined): void {
    // A stopping turn asks for no approval.
    if (this.#isStopping) return this.skip(call);
    const { toolName } = call;
    const data = { ...this.key(call), toolName, ...(reason === undefined ? {} : { reason }) };
    this.#recorder.record({ type: "tool.approval-requested", data });
  }

  /** The client that runs the call answers it by `answerCall`. */
  requestOutput(call: CallPart): void {
    // A stopping turn waits for no client.
    if (this.#isStopping) return this.skip(call);
    const data = { ...this.key(call), toolName: call.toolName };
    this.#end(call, { type: "tool.output-requested", data });
  }

  skip(call: CallId): void {
    const { context } = this.#recorder.state.machine;
    const end = this.attempts(call) === 0 ? skipped : unfinished;
    this.#end(call, end(this.key(call), context));
  }

  deny(call: CallPart, reason: string | undefined): void {
    this.#end(call, denied(this.key(call), reason));
  }

  /** Fails a call that the model made wrongly. */
  refuse(call: CallPart): void {
    const message = `The call of ${call.toolName} is invalid.`;
    this.fail(call, call.error ?? { name: "Error", message });
  }

  fail(call: CallPart, error: StoredError): void {
    this.#end(call, { type: "tool.failed", data: { ...this.key(call), error } });
  }

  /** Records what the call ends with here. If a dead process had started it, its outcome is unknown. */
  #end(call: CallId, ending: EventBody): void {
    const { state } = this.#recorder;
    const unknown = { ...this.key(call), reason: "recovered" } as const;
    this.#recorder.record(
      hasUnknownAttempt(state, call.callId) ? { type: "tool.unknown", data: unknown } : ending,
    );
  }

  get #isStopping(): boolean {
    return this.#recorder.state.machine.context.stopping !== undefined;
  }
}
