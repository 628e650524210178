/** The steps of a log: what each was asked, answered, called and billed. */

import type { SessionEvent } from "../../../src/public/events.ts";

type Usage = SessionEvent<"step.finished">["data"]["usage"];

interface StepCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  readonly outcome?: string;
}

export interface Step {
  readonly step: number;
  readonly turn: number;
  readonly attempt: number;
  /** Of its `step.started`. The prompt is that of the position before. */
  readonly position: number;
  readonly time: number;
  readonly model: string;
  readonly estimate: number;
  readonly digest: string;
  readonly status: "running" | "finished" | "failed" | "interrupted" | "retried";
  readonly endPosition?: number;
  readonly endTime?: number;
  readonly usage?: Usage;
  /** Why its attempt failed. */
  readonly error?: string;
  readonly text: string;
  readonly calls: readonly StepCall[];
}

type Writable = { -readonly [Key in keyof Step]: Step[Key] };

/** Each attempt of each step, in order. A log that is followed adds to it, so that it is not read again each time. */
export class StepList {
  readonly #steps: Writable[] = [];

  /** All steps so far: another list at each call, of the same steps. */
  get all(): readonly Step[] {
    return this.#steps.slice();
  }

  add(event: SessionEvent): void {
    take(this.#steps, event);
  }
}

function take(steps: Writable[], event: SessionEvent): void {
  const open = steps.at(-1);
  switch (event.type) {
    case "step.started": {
      const { step, turn, attempt, model, estimate, promptDigest } = event.data;
      steps.push({
        step,
        turn,
        attempt,
        position: event.position,
        time: event.time,
        model: model.modelId,
        estimate: estimate.tokens,
        digest: promptDigest,
        status: "running",
        text: "",
        calls: [],
      });
      return;
    }
    case "step.finished":
      return end(open, event, "finished");
    case "step.failed":
      return end(open, event, "failed");
    case "step.interrupted":
      return end(open, event, "interrupted");
    case "step.retrying":
      return end(open, event, "retried");
    case "part.text-delta":
      if (open !== undefined) open.text += event.data.text;
      return;
    case "part.tool-call": {
      const { toolCallId: id, toolName: tool, input } = event.data;
      if (open !== undefined) open.calls = [...open.calls, { id, tool, input }];
      return;
    }
    case "tool.succeeded":
    case "tool.failed":
    case "tool.denied":
    case "tool.skipped":
    case "tool.unknown": {
      const { step, callId } = event.data;
      const of = steps.findLast((one) => one.step === step);
      if (of === undefined) return;
      const outcome = event.type.slice("tool.".length);
      of.calls = of.calls.map((call) => (call.id === callId ? { ...call, outcome } : call));
      return;
    }
    default:
  }
}

function end(
  step: Writable | undefined,
  event: SessionEvent<"step.finished" | "step.failed" | "step.interrupted" | "step.retrying">,
  status: Step["status"],
): void {
  if (step === undefined || step.status !== "running") return;
  step.status = status;
  step.endPosition = event.position;
  step.endTime = event.time;
  if (event.data.usage !== undefined) step.usage = event.data.usage;
  if ("error" in event.data && event.data.error !== undefined)
    step.error = event.data.error.message;
}

/** The step that a position belongs to: the last one that began before it. */
export function stepAt(steps: readonly Step[], position: number): Step | undefined {
  return steps.findLast((step) => step.position <= position);
}
