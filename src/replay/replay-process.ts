/**
 * One process of a recorded session that runs again: a runtime whose agent and waits are those of its lane. Its log
 * drops what the process did after its recorded death.
 */

import {
  type EventLog,
  type NewEvent,
  type SessionEvent,
  defined,
  type BlobStore,
} from "../events/index.ts";
import {
  createRuntime,
  type Session,
  withKnownTools,
  type RuntimeOptions,
} from "../runtime/index.ts";
import type { Agent } from "../agent/index.ts";
import type { Timer } from "../shared/index.ts";
import { isGone, recordedBlobs } from "./recorded-endings.ts";
import { recordedAppEvents, type RecordedOrder } from "./recorded-order.ts";

interface ReplayProcessOptions {
  readonly log: EventLog;
  readonly events: readonly SessionEvent[];
  readonly order: RecordedOrder;
  readonly lane: StageLane;
  readonly blobs: BlobStore;
  /** Repeats what came from outside at this place of the recording. */
  readonly given: () => void;
}

const never = <Value>(): Promise<Value> => new Promise<Value>(() => {});

export class ReplayProcess {
  readonly #options: ReplayProcessOptions;
  /** The event with which this process opened the session. */
  readonly #opening: SessionEvent;
  #isLive = true;
  #lastAppend: Promise<unknown> = Promise.resolve();
  /** By the position of a call's start: its tool has run. */
  readonly #ran = new Map<number, PromiseWithResolvers<void>>();
  /** Each ends the time of the running turn or step, which passes only where that was recorded. */
  readonly #clocks = new Set<() => void>();

  constructor(opening: SessionEvent, options: ReplayProcessOptions) {
    this.#opening = opening;
    this.#options = options;
  }

  /** @param agent - With the tools that MCP servers offered. `agentName`: its name among several agents. */
  async open(session: string, agent: Agent, agentName: string | undefined): Promise<Session> {
    const { events, lane, blobs } = this.#options;
    const opening = this.#opening;
    const run = lane.equip(withKnownTools(agent), opening, (start) => {
      this.#run(start).resolve();
    });
    const recovery = [opening, events[opening.position]].find(
      (one) => one?.type === "session.recovered",
    );
    const { metadata, parent } = opening.type === "session.created" ? opening.data : {};
    const testing = lane.testing();
    const runtime = await createRuntime({
      log: this.#ownLog(),
      blobs: { store: blobs, ...recordedBlobs(events) },
      ...(agentName === undefined ? { agent: run } : { agents: { [agentName]: run } }),
      events: recordedAppEvents(events),
      recovery: recovery?.type === "session.recovered" ? recovery.data.policy : "stop",
      maxRecoveries: Number.POSITIVE_INFINITY,
      testing: {
        ...testing,
        timer: this.#timer,
        random: () => 0,
        recording: { ...testing.recording, ...defined({ parent }), isReplay: true },
      },
    });
    return await runtime.session(session, defined({ agent: agentName, metadata }));
  }

  /** The process dies: what it still does is dropped. Resolves when its last append is written. */
  end(): Promise<unknown> {
    this.#isLive = false;
    return this.#lastAppend;
  }

  /** The time of the running turn or step is up. */
  endTime(): void {
    [...this.#clocks].at(-1)?.();
  }

  /** Waits for the tools of calls to run. @param starts - The positions of the calls' starts. */
  running(starts: readonly number[]): readonly Promise<void>[] {
    return starts.map((start) => this.#run(start).promise);
  }

  #run(start: number): PromiseWithResolvers<void> {
    const run = this.#ran.get(start) ?? Promise.withResolvers<void>();
    this.#ran.set(start, run);
    return run;
  }

  readonly #timer: Timer = (milliseconds, due, wait) => {
    let isWaiting = true;
    const end = (): void => {
      if (isWaiting && this.#isLive) due();
    };
    if (wait.kind === "turn") this.#clocks.add(end);
    const own = this.#options.lane.wait(milliseconds, end, wait);
    return {
      [Symbol.dispose]: () => {
        isWaiting = false;
        this.#clocks.delete(end);
        own[Symbol.dispose]();
      },
    };
  };

  /** The log as this process sees it. */
  #ownLog(): EventLog {
    const { log, lane, given } = this.#options;
    return wrapLog(log, {
      append: async (session, expected, events) => {
        const written = this.#isLive ? this.#beforeDeath(events) : [];
        if (lane.isOver || written.length === 0) return await never();
        const appended = log.append(session, expected, written);
        this.#lastAppend = appended;
        // What comes from outside comes before the session hears of its events and continues.
        given();
        const revision = await appended;
        return this.#isLive ? revision : await never();
      },
      saveSnapshot: (...snapshot) => (this.#isLive ? log.saveSnapshot(...snapshot) : never()),
    });
  }

  /** The events of an append that came before the next process opened the session, or before the fork. */
  #beforeDeath(events: readonly NewEvent[]): readonly NewEvent[] {
    const { order, lane, events: recorded } = this.#options;
    const opened = this.#opening.position;
    const written: NewEvent[] = [];
    for (const event of events) {
      if (order.agrees && isGone(order.position + 1, opened, recorded)) {
        this.#isLive = false;
        break;
      }
      written.push(lane.happened(event));
      if (lane.isOver) break;
    }
    return written;
  }
}

// A log with some methods replaced, to observe it or make it fail. The replay and tests use it.

export function wrapLog(log: EventLog, changes: Partial<EventLog>): EventLog {
  return {
    append: (...append) => log.append(...append),
    fork: (...fork) => log.fork(...fork),
    read: (...read) => log.read(...read),
    readAt: (...read) => log.readAt(...read),
    subscribe: (...subscription) => log.subscribe(...subscription),
    subscribeAll: (...subscription) => log.subscribeAll(...subscription),
    readAll: (...read) => log.readAll(...read),
    revision: (session) => log.revision(session),
    list: (...list) => log.list(...list),
    delete: (...deletion) => log.delete(...deletion),
    deleted: () => log.deleted(),
    saveSnapshot: (...snapshot) => log.saveSnapshot(...snapshot),
    loadSnapshot: (...snapshot) => log.loadSnapshot(...snapshot),
    cursors: log.cursors,
    ownership: log.ownership,
    inbox: log.inbox,
    close: () => log.close(),
    [Symbol.asyncDispose]: () => log.close(),
    ...changes,
  };
}

// What a lane puts in the place of the world when a recorded session runs again: see `recorded-lane` and
// `candidate-lane`.

export interface StageLane {
  /** Whether the lane has come to its end: nothing more is appended. */
  readonly isOver: boolean;
  /** An event is about to be appended. Returns it with its time. */
  happened(event: NewEvent): NewEvent;
  /** Events that the stage copies from the recording. */
  copied(events: readonly SessionEvent[]): void;
  /** The session has this name from here on. */
  addName(name: string): void;
  /** The agent as it runs in this lane. @param onRun - Takes the position of a recorded call's start as its tool runs */
  equip(agent: Agent, opening: SessionEvent, onRun: (start: number) => void): Agent;
  testing(): NonNullable<RuntimeOptions["testing"]>;
  /** Waits for a limit, a back-off or a tool. */
  readonly wait: Timer;
  /** An event from outside as it is repeated here; undefined if it has no place any more. */
  repeated(event: SessionEvent): SessionEvent | undefined;
  /** An event whose positions are those of this lane. */
  moved(event: SessionEvent): SessionEvent;
  /** Set by the stage. Called with a recorded answer whose question comes at another place here. */
  onAsked?: (answer: SessionEvent) => void;
  /** What came from outside does not happen here: it was refused, or nothing follows any more. */
  missing(position: number): void;
  /** The recording is over, and the session still waits for an answer. */
  stuck(): void;
}
