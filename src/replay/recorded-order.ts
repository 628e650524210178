/**
 * How far a replay has come in its recording. An answer from the log waits until all events before it have
 * happened again, and until it is due. Events of parallel calls may come in another order.
 */

import {
  type NewEvent,
  type SessionEvent,
  defineEvents,
  isAppEvent,
  type DefinedEvents,
  type AppEventType,
  type EventSchemas,
} from "../events/index.ts";
import { atOnce, type ReplayPace, isTimeUp } from "../models/index.ts";
import { beginOf, isOpening } from "./recorded-endings.ts";
import { commands, type Recording } from "../commands/index.ts";
import type { Session } from "../runtime/index.ts";

export class RecordedOrder implements ReplayPace {
  #position = 0;
  /** Positions of events that happened before an earlier one. */
  readonly #ahead = new Set<number>();
  #stopped = false;
  #waiting: {
    readonly position: number;
    readonly isDue: () => boolean;
    readonly resume: () => void;
  }[] = [];
  #changed = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #time: ReplayPace;
  readonly #events: readonly SessionEvent[];
  #held = 0;
  /** What came from outside: commands, openings, the ends of time limits. */
  readonly outside: readonly SessionEvent[];
  readonly #isOutside: ReadonlySet<number>;
  readonly #parted = Promise.withResolvers<void>();
  #hasParted = false;
  /** What was recorded up to here is past for a session that goes its own way. */
  #past = 0;
  /** Called when the place moved without an event. */
  onPassed: () => void = () => {};

  /** @param events - All that were recorded. */
  constructor(events: readonly SessionEvent[], time: ReplayPace = atOnce) {
    this.#events = events;
    this.outside = fromOutside(events);
    this.#isOutside = new Set(this.outside.map(({ position }) => position));
    this.#time = time;
  }

  /** Whether the session has repeated the recording so far. */
  get agrees(): boolean {
    return !this.#hasParted;
  }

  /** Resolves when the session goes its own way. */
  get parted(): Promise<void> {
    return this.#parted.promise;
  }

  /** From here on, only what comes from outside keeps its place: an answer does not wait for other events. */
  part(): void {
    if (this.#hasParted) return;
    this.#hasParted = true;
    this.#parted.resolve();
    const wanted = this.#waiting.map(({ position }) => position - 1);
    this.pass(Math.max(this.#position, ...wanted));
  }

  /** Counts everything up to a position as past, but for what comes from outside, which must happen first. */
  pass(position: number): void {
    this.#past = Math.max(this.#past, position);
    const before = this.#position;
    this.#skip();
    this.advance(this.#position);
    if (this.#position > before) this.onPassed();
  }

  #skip(): void {
    let next = this.#position + 1;
    while (
      this.#ahead.delete(next) ||
      (this.#hasParted && next <= this.#past && !this.#isOutside.has(next))
    )
      next += 1;
    this.#position = next - 1;
  }

  /** Keeps the replay from ending because no event comes while something takes real time. */
  async during<Value>(work: PromiseLike<Value>): Promise<Value> {
    this.#held += 1;
    try {
      return await work;
    } finally {
      this.#held -= 1;
      this.#notify();
    }
  }

  get position(): number {
    return this.#position;
  }

  /** Whether something waits until it is due; then no other event is expected. */
  get isHeld(): boolean {
    return this.#held > 0;
  }

  /** @param callId - Of the call that ends there: it waits for no call of its step. */
  due(position: number, callId?: string): Promise<void> {
    return this.#time === atOnce ? this.#inOrder(position, callId) : this.#inTime(position, callId);
  }

  /** A wait until a position is due in time, but not after the replay is over. Undefined: no time passes. */
  moment(position: number): Promise<void> | undefined {
    return this.#time === atOnce ? undefined : this.#moment(position);
  }

  async #moment(position: number): Promise<void> {
    await this.during(Promise.race([this.#time.due(position), this.#ended.promise]));
  }

  async #inTime(position: number, callId: string | undefined): Promise<void> {
    await this.#inOrder(position, callId);
    await this.moment(position);
    if (this.#stopped) await new Promise<never>(() => {});
  }

  #inOrder(position: number, callId: string | undefined): Promise<void> {
    if (this.#hasParted && !this.#stopped) this.pass(beginOf(position, this.#events) - 1);
    const isDue = (): boolean => this.#isDue(position, callId);
    if (isDue() && !this.#stopped) return Promise.resolve();
    return new Promise((resume) => this.#waiting.push({ position, isDue, resume }));
  }

  #isDue(position: number, callId: string | undefined): boolean {
    const begin = beginOf(position, this.#events);
    for (let before = this.#position + 1; before < begin; before++) {
      const skipped = this.#events[before - 1];
      const isFree =
        this.#ahead.has(before) || (callId !== undefined && skipped && isOfOther(skipped, callId));
      if (!isFree) return false;
    }
    return true;
  }

  /** Where an event was recorded: next, or behind events whose order means nothing. Undefined: nowhere there. */
  placeOf(event: NewEvent): number | undefined {
    for (let position = this.#position + 1; ; position += 1) {
      const recorded = this.#events[position - 1];
      if (recorded === undefined) return undefined;
      if (this.#ahead.has(position)) continue;
      if (recorded.type === event.type && callOf(recorded) === callOf(event)) return position;
      if (!isParallel(recorded, event)) return undefined;
    }
  }

  /** The recorded event at a position has happened. */
  happened(position: number): void {
    if (position > this.#position) this.#ahead.add(position);
    this.#skip();
    this.advance(this.#position);
  }

  hasHappened(position: number): boolean {
    return position <= this.#position || this.#ahead.has(position);
  }

  /** Everything up to a position has happened. */
  advance(position: number): void {
    this.#position = position;
    this.#notify();
    if (this.#stopped) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) {
      if (one.isDue()) one.resume();
      else this.#waiting.push(one);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#ended.resolve();
    this.#notify();
  }

  /** Resolves when something happens or the replay stops, or to false after the given milliseconds. */
  async moved(patienceMs: number): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      late.resolve(false);
    }, patienceMs);
    try {
      return await Promise.race([this.#changed.promise.then(() => true), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

// Which events have no order: those of calls that run in parallel. Pure.

/** A call, or a blob of its result. */
function callOf({ data }: NewEvent): unknown {
  return "callId" in data ? data["callId"] : "sha256" in data ? data["sha256"] : undefined;
}

/** Whether the order of two events means nothing: they are of two calls. */
function isParallel(skipped: NewEvent, event: NewEvent): boolean {
  return isOfCall(event) && isOfOther(skipped, callOf(event));
}

function isOfOther(event: NewEvent, call: unknown): boolean {
  return isOfCall(event) && callOf(event) !== call;
}

function isOfCall({ type }: NewEvent): boolean {
  return type.startsWith("tool.") || type === "blob.stored";
}

// Repeats the commands that a recorded session received from outside: the catalogue knows them by their events.

/** Whether a command from outside caused this event; all others follow. `events`: all recorded events. */
function isCommand(event: SessionEvent, events: readonly SessionEvent[]): boolean {
  return commands.some(
    ({ recorded }) => recorded?.(event, events[event.position], events) !== undefined,
  );
}

/** What a caller, a clock or a new process caused, rather than the session itself. */
function fromOutside(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return events.filter(
    (event) =>
      isCommand(event, events) || isTimeUp(event) || isOpening(event, events[event.position - 2]),
  );
}

/** The program's recorded events. Their data was checked when it was appended. */
export function recordedAppEvents(events: readonly SessionEvent[]): DefinedEvents {
  const schemas: Record<AppEventType, EventSchemas[AppEventType]> = {};
  for (const { type } of events.filter(isAppEvent)) schemas[type] = anything;
  return defineEvents(schemas);
}

const anything: EventSchemas[AppEventType] = {
  "~standard": { version: 1, validate: (value) => ({ value }) },
};

/** Repeats the command that caused an event, in this very moment if it can. @param events - All recorded events. */
export async function repeatCommand(
  session: Session,
  event: SessionEvent,
  events: readonly SessionEvent[],
  recording: Omit<Recording, "view">,
): Promise<void> {
  for (const { name, recorded } of commands) {
    const args = recorded?.(event, events[event.position], events);
    if (args === undefined) continue;
    const asked = args({ ...recording, view: () => session.view() });
    const given = asked instanceof Promise ? await asked : asked;
    const method: unknown = Reflect.get(session, name);
    if (given !== undefined && typeof method === "function")
      await Reflect.apply(method, session, given);
    return;
  }
}
