/** Which steps of a session are old, and what of them can be dropped. Pure: folds events. */

import type { PositionRange, SessionEvent } from "../../events/index.ts";

/** One attempt at a step: the events from its start to the last part that came. */
export interface Attempt extends PositionRange {
  readonly turn: number;
  readonly step: number;
  /** When its last part came, or it began. */
  readonly at: number;
  /** Whether there is reasoning in it that was not dropped before. */
  readonly reasons: boolean;
  /**
   * Whether the provider ran calls of its own in it: what it has stored of those can be sent again
   * with the reasoning that it came of, and not without.
   */
  readonly isBound: boolean;
}

/** Which steps stay as they are. Without any of these, those of the last turn. */
export interface KeptSteps {
  /** The last so many. */
  readonly keepSteps?: number;
  /** All from the first on that was not over by then, in epoch milliseconds. */
  readonly before?: number;
}

export class Attempts {
  readonly #attempts: Attempt[] = [];

  get all(): readonly Attempt[] {
    return this.#attempts;
  }

  see(event: SessionEvent): void {
    const { type, position, time: at, data } = event;
    if (type === "step.started") {
      const { turn, step } = data;
      this.#attempts.push({
        turn,
        step,
        from: position,
        to: position,
        at,
        reasons: false,
        isBound: false,
      });
      return;
    }
    const last = this.#attempts.at(-1);
    if (last === undefined || !type.startsWith("part.")) return;
    const reasons = last.reasons || isReasoning(event);
    const isBound = last.isBound || (type === "part.tool-call" && data.providerExecuted === true);
    this.#attempts[this.#attempts.length - 1] = { ...last, to: position, at, reasons, isBound };
  }

  /** Those that do not stay as they are, from the first on. */
  old({ keepSteps, before }: KeptSteps): readonly Attempt[] {
    const last = this.#attempts.at(-1);
    const isOld = ({ turn, step, at }: Attempt): boolean => {
      if (last === undefined) return false;
      if (keepSteps === undefined && before === undefined) return turn < last.turn;
      return step <= last.step - (keepSteps ?? 0) && at < (before ?? Number.POSITIVE_INFINITY);
    };
    const end = this.#attempts.findIndex((attempt) => !isOld(attempt));
    return end === -1 ? this.#attempts : this.#attempts.slice(0, end);
  }
}

function isReasoning({ type, data }: SessionEvent): boolean {
  switch (type) {
    case "part.reasoning-start":
    case "part.reasoning-delta":
    case "part.reasoning-end":
    case "part.reasoning-file":
      return data.dropped !== true && !("text" in data && data.text === "" && isPlain(data));
    default:
      return false;
  }
}

/** Of a block that was dropped, only its beginning and its end are marked. */
function isPlain(data: object): boolean {
  return Object.keys(data).length === 2;
}

/** What of some spans is in none of others. */
export function beyond(
  spans: readonly PositionRange[],
  others: readonly PositionRange[],
): readonly PositionRange[] {
  return others.reduce<readonly PositionRange[]>(
    (left, { from, to }) =>
      left.flatMap((span) =>
        [
          { from: span.from, to: Math.min(span.to, from - 1) },
          { from: Math.max(span.from, to + 1), to: span.to },
        ].filter((part) => part.from <= part.to),
      ),
    spans,
  );
}
