/**
 * The lane of a replay: the model, the tools and the waits answer from the recording, and each event is compared with
 * the recorded one. It is over at the first difference.
 */

import type { Agent } from "../agent/index.ts";
import { nameOf } from "../agent/index.ts";
import type { NewEvent, SessionEvent } from "../events/index.ts";
import { defined } from "../events/index.ts";
import { replayModel } from "../models/index.ts";
import type { RuntimeOptions } from "../runtime/index.ts";
import type { Timer } from "../shared/index.ts";
import { isNextBelieved, waitEnd } from "./recorded-endings.ts";
import type { RecordedOrder } from "./recorded-order.ts";
import {
  recordedFailover,
  recordedLimit,
  recordedPreparations,
  recordedTexts,
  withRecordedStops,
} from "./replay-boundaries.ts";
import {
  AllowedDifferences,
  isSameEvent,
  withEffect,
  withPrompt,
  type AllowedDifference,
  type ReplayDifference,
} from "./replay-difference.ts";
import { replayedContext } from "./replay-summaries.ts";
import { watchedTools } from "./replay-tools.ts";
import type { StageLane } from "./stage-lane.ts";

/** Parts of an agent that a replay can run, instead of taking their answers from the recording. */
export const liveParts = ["tools", "stopWhen", "prepareStep", "refineToolInput"] as const;
export type LivePart = (typeof liveParts)[number];

export interface RecordedLaneOptions {
  readonly events: readonly SessionEvent[];
  readonly order: RecordedOrder;
  /** Positions of steps whose prompts cannot be compared. */
  readonly lostPrompts: ReadonlySet<number>;
  readonly allow: readonly AllowedDifference[];
  readonly live: ReadonlySet<LivePart>;
  /** Called for each event that happened as it was recorded. */
  readonly onEvent: (event: SessionEvent) => void;
}

export class RecordedLane implements StageLane {
  readonly #options: RecordedLaneOptions;
  readonly #allowed: AllowedDifferences;
  /** All names of the session that the log shows. */
  readonly #names = new Set<string>();
  #difference: ReplayDifference | undefined;

  constructor(options: RecordedLaneOptions) {
    this.#options = options;
    this.#allowed = new AllowedDifferences(options.allow);
  }

  get difference(): ReplayDifference | undefined {
    return this.#difference;
  }

  get isOver(): boolean {
    return this.#difference !== undefined;
  }

  addName(name: string): void {
    this.#names.add(name);
  }

  copied(events: readonly SessionEvent[]): void {
    for (const event of events) this.#allowed.happened(event);
  }

  happened(event: NewEvent): NewEvent {
    const { events, lostPrompts, onEvent, order } = this.#options;
    const position = order.placeOf(event) ?? order.position + 1;
    const recorded = events[position - 1];
    // Only the position is still missing.
    const made = { ...event, position } as SessionEvent;
    const named = withEffect(made, recorded, this.#names);
    const compared = this.#allowed.without(named, recorded);
    const replayed = lostPrompts.has(position) ? withPrompt(compared, recorded) : compared;
    if (recorded === undefined || !isSameEvent(recorded, replayed)) {
      this.#differ({ position, recorded, replayed });
      return event;
    }
    this.#allowed.happened(recorded);
    onEvent(recorded);
    order.happened(position);
    return { ...event, ...(named === made ? {} : named), time: recorded.time };
  }

  equip(given: Agent, opening: SessionEvent, onRun: (start: number) => void): Agent {
    const { events, order, live } = this.#options;
    const agent = withRecordedStops(given, events, order, live);
    const rest = events.slice(opening.position - 1);
    return {
      ...agent,
      model: { ...replayModel(rest, order), ...nameOf(agent.model) },
      context: replayedContext(agent, rest, order, () => order.position),
      ...(agent.tools && {
        tools: watchedTools(rest, agent.tools, order, {
          onRun: ({ started }) => onRun(started.position),
          isLive: live.has("tools"),
        }),
      }),
    };
  }

  testing(agent: Agent): NonNullable<RuntimeOptions["testing"]> {
    const { events, order, live } = this.#options;
    const preparation = live.has("prepareStep")
      ? undefined
      : recordedPreparations(agent, events, order);
    const hasTexts = events.some(({ type }) => type.startsWith("prompt."));
    return {
      clock: () => events[Math.min(order.position, events.length - 1)]?.time ?? 0,
      recordedLimit: (position) => recordedLimit(events, position),
      recordedFailover: (position) => recordedFailover(events, position),
      // Earlier releases recorded none.
      recordedTexts: (position) => (hasTexts ? recordedTexts(events, position) : undefined),
      ...defined({ recordedPreparation: preparation }),
      believesBill: () => isNextBelieved(events, order.position),
    };
  }

  /** Waits end where they ended in the recording, without waiting. */
  readonly wait: Timer = (_, due, wait) => {
    const { events, order } = this.#options;
    const position = waitEnd(events, order.position, wait);
    if (position !== undefined) void order.due(position).then(due);
    return { [Symbol.dispose]: () => {} };
  };

  repeated(event: SessionEvent): SessionEvent {
    return event;
  }

  moved(event: SessionEvent): SessionEvent {
    return event;
  }

  missing(position: number): void {
    const { events, order } = this.#options;
    if (order.hasHappened(position)) return;
    this.#differ({ position, recorded: events[position - 1], replayed: undefined });
  }

  stuck(): void {}

  #differ(difference: ReplayDifference): void {
    this.#difference ??= difference;
    this.#options.order.stop();
  }
}
