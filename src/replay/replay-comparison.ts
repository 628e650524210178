/** Compares each event of a replay with the recorded one, and keeps the first difference. */

import type { NewEvent, SessionEvent } from "../events/index.ts";
import { AllowedDifferences, type AllowedDifference } from "./allowed-differences.ts";
import { isSameEvent, withEffect, withPrompt, type ReplayDifference } from "./replay-difference.ts";
import type { ReplayPacer } from "./replay-pacer.ts";

export interface ReplayComparisonOptions {
  readonly events: readonly SessionEvent[];
  /** Positions of steps whose prompts cannot be compared. */
  readonly lostPrompts: ReadonlySet<number>;
  readonly allow: readonly AllowedDifference[];
  /** Called for each event that happened as it was recorded. */
  readonly onEvent: (event: SessionEvent) => void;
}

export class ReplayComparison {
  readonly #options: ReplayComparisonOptions;
  /** Stopped at the first difference. */
  readonly #pacer: ReplayPacer;
  readonly #allowed: AllowedDifferences;
  /** All names of the session that the log shows. */
  readonly #names = new Set<string>();
  #difference: ReplayDifference | undefined;

  constructor(options: ReplayComparisonOptions, pacer: ReplayPacer) {
    this.#options = options;
    this.#pacer = pacer;
    this.#allowed = new AllowedDifferences(options.allow);
  }

  get difference(): ReplayDifference | undefined {
    return this.#difference;
  }

  addName(name: string): void {
    this.#names.add(name);
  }

  /** Takes over events that the replay itself copies from the recording. */
  copied(events: readonly SessionEvent[]): void {
    for (const event of events) this.#allowed.happened(event);
  }

  /** Compares the event that happened at a position, and gives it the recorded time. */
  happened(position: number, event: NewEvent): NewEvent {
    const recorded = this.#options.events[position - 1];
    // Only the position is still missing.
    const made = { ...event, position } as SessionEvent;
    const named = withEffect(made, recorded, this.#names);
    const compared = this.#allowed.without(named, recorded);
    const replayed = this.#options.lostPrompts.has(position)
      ? withPrompt(compared, recorded)
      : compared;
    if (recorded !== undefined && isSameEvent(recorded, replayed)) {
      this.#allowed.happened(recorded);
      this.#options.onEvent(recorded);
      return { ...event, ...(named === made ? {} : named), time: recorded.time };
    }
    this.#differ({ position, recorded, replayed });
    return event;
  }

  /** The recorded event does not happen: nothing follows any more, or the session refuses its command. */
  missing(position: number): void {
    if (this.#pacer.position >= position) return;
    const recorded = this.#options.events[position - 1];
    this.#differ({ position, recorded, replayed: undefined });
  }

  #differ(difference: ReplayDifference): void {
    this.#difference ??= difference;
    this.#pacer.stop();
  }
}
