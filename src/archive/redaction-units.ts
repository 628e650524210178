/**
 * Groups events that are redacted together: a block with its deltas; a call with its input, approval and
 * outcome. Any other event is a unit alone. Pure.
 */

import { hasContent } from "../store/encryption/index.ts";
import {
  isRedacted,
  isEncryptedInLog,
  type PositionRange,
  type SessionEvent,
} from "../events/index.ts";

export interface ContentEvent {
  readonly position: number;
  /** The position by which a compaction covers it: the start of its step, or the delivery of a message. */
  readonly place: number;
  readonly type: SessionEvent["type"];
  readonly unit: string;
  readonly call?: { readonly step: number; readonly callId: string };
  readonly hasContent: boolean;
  readonly isEncrypted: boolean;
  readonly isRedacted: boolean;
}

/** Takes the events of a session in order and answers the unit of each. */
export class RedactionUnits {
  #step = 0;
  /** Position of the last attempt at each step. */
  readonly #attempts = new Map<number, number>();
  /** Position at which the newest block of an id began: providers reuse ids. */
  readonly #blocks = new Map<string, number>();

  #lastText: string | undefined;

  unit(event: SessionEvent): ContentEvent {
    const call = this.#callOf(event);
    const unit =
      call === undefined
        ? (this.#blockOf(event) ?? `event ${event.position}`)
        : `call ${this.#attempts.get(call.step) ?? 0} ${call.callId}`;
    return {
      position: event.position,
      place: this.#placeOf(event, call?.step),
      type: event.type,
      unit,
      ...(call === undefined ? {} : { call }),
      hasContent: hasContent(event),
      isEncrypted: isEncryptedInLog(event),
      isRedacted: isRedacted(event),
    };
  }

  #placeOf({ type, position }: SessionEvent, step = this.#step): number {
    const isOfStep = type.startsWith("part.") || type.startsWith("tool.");
    return (isOfStep ? this.#attempts.get(step) : undefined) ?? position;
  }

  #callOf(event: SessionEvent): ContentEvent["call"] {
    switch (event.type) {
      case "step.started":
        this.#step = event.data.step;
        this.#attempts.set(event.data.step, event.position);
        return undefined;
      case "part.tool-input-start":
      case "part.tool-input-delta":
      case "part.tool-input-end":
        return { step: this.#step, callId: event.data.id };
      case "part.tool-call":
      case "part.tool-result":
      case "part.tool-error":
      case "part.tool-approval-request":
        return { step: this.#step, callId: event.data.toolCallId };
      case "tool.approval-requested":
      case "tool.approval-answered":
      case "tool.output-requested":
      case "tool.started":
      case "tool.progressed":
      case "tool.succeeded":
      case "tool.failed":
      case "tool.denied":
      case "tool.skipped":
      case "tool.unknown":
        return { step: event.data.step, callId: event.data.callId };
      default:
        return undefined;
    }
  }

  #blockOf({ type, position, data }: SessionEvent): string | undefined {
    switch (type) {
      case "part.text-start":
      case "part.text-delta":
      case "part.text-end":
      case "part.reasoning-start":
      case "part.reasoning-delta":
      case "part.reasoning-end": {
        const kind = type.startsWith("part.text") ? "text" : "reasoning";
        const name = `${this.#attempts.get(this.#step) ?? 0} ${kind} ${data.id}`;
        if (type.endsWith("-start")) this.#blocks.set(name, position);
        const block = `block ${name} ${this.#blocks.get(name) ?? 0}`;
        if (kind === "text") this.#lastText = block;
        return block;
      }
      case "turn.ended":
        // The structured output repeats the text.
        return "output" in data ? this.#lastText : undefined;
      default:
        return undefined;
    }
  }
}

export function rangesOf(positions: readonly number[]): readonly PositionRange[] {
  const ranges: PositionRange[] = [];
  for (const position of positions) {
    const last = ranges.at(-1);
    if (last?.to === position - 1) ranges[ranges.length - 1] = { from: last.from, to: position };
    else ranges.push({ from: position, to: position });
  }
  return ranges;
}
