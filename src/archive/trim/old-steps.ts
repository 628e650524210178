/** Finds the old steps of a session for `trimLog`. Pure: folds events. */

import type { PositionRange, SessionEvent } from "../../events/index.ts";

/** One attempt at a step: the events from its start to its last part. */
export interface Attempt extends PositionRange {
  readonly turn: number;
  readonly step: number;
  /** Time of its last part, else of its start. */
  readonly time: number;
  readonly hasReasoning: boolean;
  /** The provider ran its own calls in it: those can be sent again only together with the reasoning. */
  readonly isBound: boolean;
}

/** Which steps are kept. Default: those of the last turn. */
export interface KeptSteps {
  readonly keepSteps?: number;
  /** Keep all steps from the first one that was not over at this time, in epoch milliseconds. */
  readonly before?: number;
}

export class Attempts {
  readonly #attempts: Attempt[] = [];

  get all(): readonly Attempt[] {
    return this.#attempts;
  }

  fold(event: SessionEvent): void {
    const { type, position, time, data } = event;
    if (type === "step.started") {
      const { turn, step } = data;
      this.#attempts.push({
        turn,
        step,
        from: position,
        to: position,
        time,
        hasReasoning: false,
        isBound: false,
      });
      return;
    }
    const last = this.#attempts.at(-1);
    if (last === undefined || !type.startsWith("part.")) return;
    const hasReasoning = last.hasReasoning || isReasoning(event);
    const isBound = last.isBound || (type === "part.tool-call" && data.providerExecuted === true);
    const to = position;
    this.#attempts[this.#attempts.length - 1] = { ...last, to, time, hasReasoning, isBound };
  }

  /** The attempts that are not kept: always a prefix of all attempts. */
  old({ keepSteps, before }: KeptSteps): readonly Attempt[] {
    const last = this.#attempts.at(-1);
    const isOld = ({ turn, step, time }: Attempt): boolean => {
      if (last === undefined) return false;
      if (keepSteps === undefined && before === undefined) return turn < last.turn;
      return step <= last.step - (keepSteps ?? 0) && time < (before ?? Number.POSITIVE_INFINITY);
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

/** Its only fields are id and text: such an empty delta is what is left of a dropped block. */
function isPlain(data: object): boolean {
  return Object.keys(data).length === 2;
}

export function difference(
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
