/** How a step spent its time, folded from its events for display. Pure. */

import type { ModelName, SessionEvent, TokenUsage } from "../events/index.ts";

/**
 * `waiting` for the first token; streamed `text`, `reasoning` and `input` (of a call); a `gap` in the stream;
 * `retry` between two attempts; `approval` by a person; `output` of a client; a running `tool`.
 */
export type SpanKind =
  | "waiting"
  | "reasoning"
  | "text"
  | "input"
  | "gap"
  | "retry"
  | "approval"
  | "output"
  | "tool";

export interface TimelineSpan {
  readonly kind: SpanKind;
  /** The tool's name, or why an attempt failed and which other model took over. */
  readonly label?: string;
  /** Milliseconds since the step began. */
  readonly from: number;
  /** Absent if the end is not known. */
  readonly to?: number;
  /** For instance `succeeded`, `failed` or `unknown`. */
  readonly outcome?: string;
}

/** The timeline of a step. */
export interface StepTimeline {
  readonly turn: number;
  readonly step: number;
  readonly attempts: number;
  /** Of its last attempt. */
  readonly model: ModelName;
  /** The position and the time (epoch milliseconds) of its first `step.started`. */
  readonly position: number;
  readonly startedAt: number;
  /** How the model call ended; absent while it runs. */
  readonly outcome?: "finished" | "failed" | "interrupted";
  /** Milliseconds from its beginning to its last event. */
  readonly totalMs: number;
  /** From the beginning of the last attempt with output; absent if there was no output. */
  readonly firstTokenMs?: number;
  readonly usage?: TokenUsage;
  /** Output tokens a second from the first token to the end; absent if that took no time. */
  readonly tokensPerSecond?: number;
  /** Ordered by beginning. */
  readonly spans: readonly TimelineSpan[];
}

/** A gap is shown if it is at least this long and a tenth of the stream's time. */
const SHORTEST_GAP_MS = 50;
const GAP_SHARE = 0.1;

/**
 * The timelines of a session's steps, in order.
 * @param events - From the session's first event, or from any `step.started`.
 */
export function stepTimelines(events: readonly SessionEvent[]): readonly StepTimeline[] {
  const steps: OpenStep[] = [];
  for (const event of events) {
    const last = steps.at(-1);
    if (event.type === "step.started" && last?.step === event.data.step) last.retry(event);
    else if (event.type === "step.started") steps.push(new OpenStep(event));
    else last?.add(event);
  }
  return steps.map((step) => step.timeline());
}

interface OpenSpan {
  readonly kind: SpanKind;
  readonly label?: string;
  readonly from: number;
  to?: number;
  outcome?: string;
}

class OpenStep {
  readonly step: number;
  readonly #began: SessionEvent<"step.started">;
  readonly #spans: OpenSpan[] = [];
  readonly #open = new Map<string, OpenSpan>();
  #model: ModelName;
  /** The model that takes over. */
  #next: string | undefined;
  #attempts = 1;
  #attemptAt: number;
  #firstToken: { readonly time: number; readonly afterMs: number } | undefined;
  #lastTokenAt: number | undefined;
  #streamEnd: number | undefined;
  #outcome: StepTimeline["outcome"];
  #usage: TokenUsage | undefined;
  #lastAt: number;

  constructor(began: SessionEvent<"step.started">) {
    this.step = began.data.step;
    this.#began = began;
    this.#model = began.data.model;
    this.#attemptAt = began.time;
    this.#lastAt = began.time;
    this.#begin("waiting", "", began.time);
  }

  retry({ time, data }: SessionEvent<"step.started">): void {
    this.#attempts = data.attempt;
    this.#model = data.model;
    this.#next = undefined;
    this.#attemptAt = time;
    this.#lastTokenAt = undefined;
    this.#end("retry", "", time);
    this.#begin("waiting", "", time);
  }

  add(event: SessionEvent): void {
    const { time } = event;
    switch (event.type) {
      case "part.text-start":
      case "part.text-delta":
        return this.#token("text", event.data.id, time);
      case "part.reasoning-start":
      case "part.reasoning-delta":
        return this.#token("reasoning", event.data.id, time);
      case "part.tool-input-start":
        return this.#token("input", event.data.id, time, event.data.toolName);
      case "part.tool-input-delta":
        return this.#token("input", event.data.id, time);
      case "part.text-end":
        return this.#end("text", event.data.id, time);
      case "part.reasoning-end":
        return this.#end("reasoning", event.data.id, time);
      case "part.tool-input-end":
        return this.#end("input", event.data.id, time);
      case "step.failed-over":
        this.#next = event.data.to.modelId;
        return;
      case "step.retrying":
        this.#closeStream(time);
        return this.#begin("retry", "", time, this.#whyRetried(event));
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        this.#closeStream(time);
        this.#end("retry", "", time);
        this.#streamEnd = time;
        this.#outcome = event.type === "step.finished" ? "finished" : outcomes[event.type];
        this.#usage = event.data.usage;
        return;
      default:
        this.#seeTool(event);
    }
  }

  #whyRetried({ data: { kind } }: SessionEvent<"step.retrying">): string | undefined {
    return this.#next === undefined ? kind : `${kind ?? "failed"}, then ${this.#next}`;
  }

  #seeTool(event: SessionEvent): void {
    const { time } = event;
    switch (event.type) {
      case "tool.approval-requested":
        return this.#begin("approval", event.data.callId, time, event.data.toolName);
      case "tool.approval-answered":
        return this.#end(
          "approval",
          event.data.callId,
          time,
          event.data.approved ? "approved" : "refused",
        );
      case "tool.output-requested":
        return this.#begin("output", event.data.callId, time, event.data.toolName);
      case "tool.started":
        // An earlier start by a dead process: its end is not known.
        this.#open.delete(`tool ${event.data.callId}`);
        return this.#begin("tool", event.data.callId, time, event.data.toolName);
      case "tool.succeeded":
      case "tool.failed":
      case "tool.denied":
      case "tool.skipped":
      case "tool.unknown":
        this.#end("approval", event.data.callId, time);
        this.#end("output", event.data.callId, time, event.type.slice("tool.".length));
        return this.#end("tool", event.data.callId, time, event.type.slice("tool.".length));
      default:
    }
  }

  timeline(): StepTimeline {
    const { turn, step } = this.#began.data;
    const startedAt = this.#began.time;
    const first = this.#firstToken;
    const streamMs = first === undefined ? 0 : (this.#streamEnd ?? this.#lastAt) - first.time;
    const tokens = this.#usage?.outputTokens ?? 0;
    return {
      turn,
      step,
      attempts: this.#attempts,
      model: this.#model,
      position: this.#began.position,
      startedAt,
      ...(this.#outcome === undefined ? {} : { outcome: this.#outcome }),
      totalMs: this.#lastAt - startedAt,
      ...(first === undefined ? {} : { firstTokenMs: first.afterMs }),
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      ...(streamMs > 0 && tokens > 0 ? { tokensPerSecond: (tokens / streamMs) * 1000 } : {}),
      spans: this.#spans
        .filter((span) => span.kind !== "gap" || isLong(span, streamMs))
        .toSorted((one, other) => one.from - other.from),
    };
  }

  #token(kind: SpanKind, id: string, time: number, label?: string): void {
    if (this.#open.has("waiting ")) {
      this.#end("waiting", "", time);
      this.#firstToken = { time, afterMs: time - this.#attemptAt };
    } else if (this.#lastTokenAt !== undefined && time > this.#lastTokenAt) {
      const began = this.#began.time;
      this.#spans.push({ kind: "gap", from: this.#lastTokenAt - began, to: time - began });
    }
    this.#lastTokenAt = time;
    this.#lastAt = time;
    const open = this.#open.get(`${kind} ${id}`);
    if (open === undefined) this.#begin(kind, id, time, label);
  }

  #begin(kind: SpanKind, id: string, time: number, label?: string): void {
    const from = time - this.#began.time;
    const span: OpenSpan = { kind, from, ...(label === undefined ? {} : { label }) };
    this.#spans.push(span);
    this.#open.set(`${kind} ${id}`, span);
    this.#lastAt = time;
  }

  #end(kind: SpanKind, id: string, time: number, outcome?: string): void {
    const key = `${kind} ${id}`;
    const span = this.#open.get(key);
    if (span === undefined) return;
    this.#open.delete(key);
    span.to = time - this.#began.time;
    if (outcome !== undefined) span.outcome = outcome;
    this.#lastAt = time;
  }

  #closeStream(time: number): void {
    for (const key of this.#open.keys()) {
      const [kind = "", id = ""] = key.split(/ (.*)/s);
      if (isStreamed(kind)) this.#end(kind, id, time);
    }
    this.#lastAt = time;
  }
}

const outcomes = { "step.failed": "failed", "step.interrupted": "interrupted" } as const;

function isStreamed(kind: string): kind is "waiting" | "text" | "reasoning" | "input" {
  return kind === "waiting" || kind === "text" || kind === "reasoning" || kind === "input";
}

function isLong({ from, to = from }: TimelineSpan, streamMs: number): boolean {
  return to - from >= Math.max(SHORTEST_GAP_MS, streamMs * GAP_SHARE);
}
