/** What a step spent its time on: a fold over its events, for who looks at a session. Pure. */

import type { ModelName, SessionEvent, TokenUsage } from "../events/index.ts";

/**
 * What went on for a while: `waiting` for a model's first token, `text`, `reasoning` and `input` (of
 * a call) being written, `gap` within a stream that said nothing, `retry` between two attempts,
 * `approval` by a person, `tool`.
 */
export type SpanKind =
  | "waiting"
  | "reasoning"
  | "text"
  | "input"
  | "gap"
  | "retry"
  | "approval"
  | "tool";

/** One stretch of it. */
export interface TimelineSpan {
  readonly kind: SpanKind;
  /** A tool's name; why an attempt failed. */
  readonly label?: string;
  /** Milliseconds since the step began. */
  readonly from: number;
  /** Absent where nobody saw the end. */
  readonly to?: number;
  /** How it went, where that can differ: `succeeded`, `failed`, `unknown`, … */
  readonly outcome?: string;
}

/** What a step spent its time with. */
export interface StepTimeline {
  readonly turn: number;
  readonly step: number;
  readonly attempts: number;
  readonly model: ModelName;
  /** Where it begins in the log, and when (epoch milliseconds). */
  readonly position: number;
  readonly startedAt: number;
  /** How the model's part ended; absent while it runs. */
  readonly outcome?: "finished" | "failed" | "interrupted";
  /** Milliseconds from its beginning to the last thing that belongs to it. */
  readonly totalMs: number;
  /** From the beginning of the attempt that spoke; absent where none did. */
  readonly firstTokenMs?: number;
  readonly usage?: TokenUsage;
  /** Output tokens for a second between the first token and the end; absent where it took no time. */
  readonly tokensPerSecond?: number;
  /** By their beginning. */
  readonly spans: readonly TimelineSpan[];
}

/** A silence within a stream is told when it is so long, and a tenth of the stream's time. */
const SHORTEST_GAP_MS = 50;
const GAP_SHARE = 0.1;

/** The timelines of a session's steps, in order. @param events - From its first on, or from any `step.started`. */
export function stepTimelines(events: readonly SessionEvent[]): readonly StepTimeline[] {
  const steps: OpenStep[] = [];
  for (const event of events) {
    const last = steps.at(-1);
    if (event.type === "step.started" && last?.step === event.data.step) last.again(event);
    else if (event.type === "step.started") steps.push(new OpenStep(event));
    else last?.see(event);
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

/** Gathers what is seen of one step. */
class OpenStep {
  readonly step: number;
  readonly #began: SessionEvent<"step.started">;
  readonly #spans: OpenSpan[] = [];
  /** By kind and id. */
  readonly #open = new Map<string, OpenSpan>();
  #attempts = 1;
  #attemptAt: number;
  #firstToken: { readonly at: number; readonly afterMs: number } | undefined;
  #lastTokenAt: number | undefined;
  #streamEnd: number | undefined;
  #outcome: StepTimeline["outcome"];
  #usage: TokenUsage | undefined;
  #lastAt: number;

  constructor(began: SessionEvent<"step.started">) {
    this.step = began.data.step;
    this.#began = began;
    this.#attemptAt = began.time;
    this.#lastAt = began.time;
    this.#begin("waiting", "", began.time);
  }

  /** Another attempt. */
  again({ time: at, data }: SessionEvent<"step.started">): void {
    this.#attempts = data.attempt;
    this.#attemptAt = at;
    this.#lastTokenAt = undefined;
    this.#end("retry", "", at);
    this.#begin("waiting", "", at);
  }

  see(event: SessionEvent): void {
    const { time: at } = event;
    switch (event.type) {
      case "part.text-start":
      case "part.text-delta":
        return this.#token("text", event.data.id, at);
      case "part.reasoning-start":
      case "part.reasoning-delta":
        return this.#token("reasoning", event.data.id, at);
      case "part.tool-input-start":
        return this.#token("input", event.data.id, at, event.data.toolName);
      case "part.tool-input-delta":
        return this.#token("input", event.data.id, at);
      case "part.text-end":
        return this.#end("text", event.data.id, at);
      case "part.reasoning-end":
        return this.#end("reasoning", event.data.id, at);
      case "part.tool-input-end":
        return this.#end("input", event.data.id, at);
      case "step.retrying":
        this.#closeStream(at);
        return this.#begin("retry", "", at, event.data.kind);
      case "step.finished":
      case "step.failed":
      case "step.interrupted":
        this.#closeStream(at);
        this.#end("retry", "", at);
        this.#streamEnd = at;
        this.#outcome = event.type === "step.finished" ? "finished" : outcomes[event.type];
        this.#usage = event.data.usage;
        return;
      default:
        this.#seeTool(event);
    }
  }

  #seeTool(event: SessionEvent): void {
    const { time: at } = event;
    switch (event.type) {
      case "tool.approval-requested":
        return this.#begin("approval", event.data.callId, at, event.data.toolName);
      case "tool.approval-answered":
        return this.#end(
          "approval",
          event.data.callId,
          at,
          event.data.approved ? "approved" : "refused",
        );
      case "tool.started":
        // One that a dead process had started: nobody saw how that went.
        this.#open.delete(`tool ${event.data.callId}`);
        return this.#begin("tool", event.data.callId, at, event.data.toolName);
      case "tool.succeeded":
      case "tool.failed":
      case "tool.denied":
      case "tool.skipped":
      case "tool.unknown":
        this.#end("approval", event.data.callId, at);
        return this.#end("tool", event.data.callId, at, event.type.slice("tool.".length));
      default:
    }
  }

  timeline(): StepTimeline {
    const { turn, step, model } = this.#began.data;
    const startedAt = this.#began.time;
    const first = this.#firstToken;
    const streamMs = first === undefined ? 0 : (this.#streamEnd ?? this.#lastAt) - first.at;
    const tokens = this.#usage?.outputTokens ?? 0;
    return {
      turn,
      step,
      attempts: this.#attempts,
      model,
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

  /** The model has said something. */
  #token(kind: SpanKind, id: string, at: number, label?: string): void {
    if (this.#open.has("waiting ")) {
      this.#end("waiting", "", at);
      this.#firstToken = { at, afterMs: at - this.#attemptAt };
    } else if (this.#lastTokenAt !== undefined && at > this.#lastTokenAt) {
      const began = this.#began.time;
      this.#spans.push({ kind: "gap", from: this.#lastTokenAt - began, to: at - began });
    }
    this.#lastTokenAt = at;
    this.#lastAt = at;
    const open = this.#open.get(`${kind} ${id}`);
    if (open === undefined) this.#begin(kind, id, at, label);
  }

  #begin(kind: SpanKind, id: string, at: number, label?: string): void {
    const from = at - this.#began.time;
    const span: OpenSpan = { kind, from, ...(label === undefined ? {} : { label }) };
    this.#spans.push(span);
    this.#open.set(`${kind} ${id}`, span);
    this.#lastAt = at;
  }

  #end(kind: SpanKind, id: string, at: number, outcome?: string): void {
    const key = `${kind} ${id}`;
    const span = this.#open.get(key);
    if (span === undefined) return;
    this.#open.delete(key);
    span.to = at - this.#began.time;
    if (outcome !== undefined) span.outcome = outcome;
    this.#lastAt = at;
  }

  /** The stream is over, and with it whatever was being written. */
  #closeStream(at: number): void {
    for (const key of this.#open.keys()) {
      const [kind = "", id = ""] = key.split(/ (.*)/s);
      if (isStreamed(kind)) this.#end(kind, id, at);
    }
    this.#lastAt = at;
  }
}

const outcomes = { "step.failed": "failed", "step.interrupted": "interrupted" } as const;

function isStreamed(kind: string): kind is "waiting" | "text" | "reasoning" | "input" {
  return kind === "waiting" || kind === "text" || kind === "reasoning" || kind === "input";
}

function isLong({ from, to = from }: TimelineSpan, streamMs: number): boolean {
  return to - from >= Math.max(SHORTEST_GAP_MS, streamMs * GAP_SHARE);
}
