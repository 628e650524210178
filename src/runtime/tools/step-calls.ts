/** Records what becomes of the calls of one step that do not run: asked for, skipped, denied or failed. */

import { entryOf, type EventBody, type StoredError } from "../../events/index.ts";
import type { CallPart } from "../../projections/index.ts";
import { attemptsAt, type SessionRecorder } from "../../state/index.ts";
import { denied, skipped } from "./call-ending.ts";

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
    this.#end(call, skipped(this.key(call), this.#recorder.state.machine.context));
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
    const unknown = { ...this.key(call), reason: "recovered" } as const;
    this.#recorder.record(
      this.attempts(call) === 0 ? ending : { type: "tool.unknown", data: unknown },
    );
  }

  get #isStopping(): boolean {
    return this.#recorder.state.machine.context.stopping !== undefined;
  }
}
